//! `system.local` and its like: the one node that this process is, as drivers ask for it.

use crate::error::Result;
use crate::system::definition::Kind::{Clustering, Partition, Regular};
use crate::system::definition::{Definition, Source, SystemRow};
use crate::system::schema_tables::text;
use skep_engine::{Uuid, Value};
use std::net::{IpAddr, Ipv4Addr};

/// The version of Cassandra whose CQL is spoken: drivers choose features by it.
const RELEASE_VERSION: &str = "5.0.9";

/// The version of the language.
const CQL_VERSION: &str = "3.4.7";

/// The tables.
pub(crate) const TABLES: &[Definition] = &[
    Definition {
        keyspace: "system",
        name: "local",
        comment: "information about the local node",
        columns: &[
            ("key", "text", Partition),
            ("bootstrapped", "text", Regular),
            ("broadcast_address", "inet", Regular),
            ("broadcast_port", "int", Regular),
            ("cluster_name", "text", Regular),
            ("cql_version", "text", Regular),
            ("data_center", "text", Regular),
            ("gossip_generation", "int", Regular),
            ("host_id", "uuid", Regular),
            ("listen_address", "inet", Regular),
            ("listen_port", "int", Regular),
            ("native_protocol_version", "text", Regular),
            ("partitioner", "text", Regular),
            ("rack", "text", Regular),
            ("release_version", "text", Regular),
            ("rpc_address", "inet", Regular),
            ("rpc_port", "int", Regular),
            ("schema_version", "uuid", Regular),
            ("tokens", "set<text>", Regular),
            ("truncated_at", "map<uuid, blob>", Regular),
        ],
        fill: local,
    },
    Definition {
        keyspace: "system",
        name: "peers",
        comment: "information about known peers in the cluster: there is none",
        columns: &[
            ("peer", "inet", Partition),
            ("data_center", "text", Regular),
            ("host_id", "uuid", Regular),
            ("preferred_ip", "inet", Regular),
            ("rack", "text", Regular),
            ("release_version", "text", Regular),
            ("rpc_address", "inet", Regular),
            ("schema_version", "uuid", Regular),
            ("tokens", "set<text>", Regular),
        ],
        fill: none,
    },
    Definition {
        keyspace: "system",
        name: "peers_v2",
        comment: "information about known peers in the cluster: there is none",
        columns: &[
            ("peer", "inet", Partition),
            ("peer_port", "int", Clustering),
            ("data_center", "text", Regular),
            ("host_id", "uuid", Regular),
            ("native_address", "inet", Regular),
            ("native_port", "int", Regular),
            ("preferred_ip", "inet", Regular),
            ("preferred_port", "int", Regular),
            ("rack", "text", Regular),
            ("release_version", "text", Regular),
            ("schema_version", "uuid", Regular),
            ("tokens", "set<text>", Regular),
        ],
        fill: none,
    },
    Definition {
        keyspace: "system_virtual_schema",
        name: "keyspaces",
        comment: "virtual keyspace definitions",
        columns: &[("keyspace_name", "text", Partition)],
        fill: none,
    },
    Definition {
        keyspace: "system_virtual_schema",
        name: "tables",
        comment: "virtual table definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("comment", "text", Regular),
        ],
        fill: none,
    },
    Definition {
        keyspace: "system_virtual_schema",
        name: "columns",
        comment: "virtual column definitions",
        columns: &[
            ("keyspace_name", "text", Partition),
            ("table_name", "text", Clustering),
            ("column_name", "text", Clustering),
            ("clustering_order", "text", Regular),
            ("column_name_bytes", "blob", Regular),
            ("kind", "text", Regular),
            ("position", "int", Regular),
            ("type", "text", Regular),
        ],
        fill: none,
    },
];

/// `system_schema` tells of the system's tables as of all others, so that drivers find each once.
fn none(_: &Source<'_>) -> Result<Vec<SystemRow>> {
    Ok(Vec::new())
}

fn local(source: &Source<'_>) -> Result<Vec<SystemRow>> {
    let address = Value::Inet(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let started = source.db.now_micros().div_euclid(1_000_000);
    Ok(vec![vec![
        ("key", text("local")),
        ("bootstrapped", text("COMPLETED")),
        ("broadcast_address", address.clone()),
        ("broadcast_port", Value::Int(7000)),
        ("cluster_name", text("skep")),
        ("cql_version", text(CQL_VERSION)),
        ("data_center", text("datacenter1")),
        ("gossip_generation", Value::Int(i32::try_from(started).unwrap_or(0))),
        ("host_id", Value::Uuid(named("host", &source.db.path().to_string_lossy()))),
        ("listen_address", address.clone()),
        ("listen_port", Value::Int(7000)),
        ("native_protocol_version", text("5")),
        ("partitioner", text("org.apache.cassandra.dht.Murmur3Partitioner")),
        ("rack", text("rack1")),
        ("release_version", text(RELEASE_VERSION)),
        ("rpc_address", address),
        ("rpc_port", Value::Int(9042)),
        ("schema_version", Value::Uuid(named("schema", &source.picture.epoch.to_string()))),
        // One token: the whole ring is this node's.
        ("tokens", Value::Set(vec![text(&i64::MIN.to_string())])),
    ]])
}

/// A uuid that follows from words, version 4 in form.
fn named(what: &str, words: &str) -> Uuid {
    let mut bytes = [0u8; 16];
    for (half, seed) in bytes.chunks_exact_mut(8).zip([0xcbf2_9ce4_8422_2325u64, 0x8422_2325_cbf2_9ce4]) {
        let hash = what
            .bytes()
            .chain(words.bytes())
            .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5));
        half.copy_from_slice(&hash.to_be_bytes());
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid(bytes)
}
