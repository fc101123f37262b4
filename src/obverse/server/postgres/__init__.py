"""The PostgreSQL wire protocol, version 3.0, in front of the desk: clients of PostgreSQL connect unchanged."""
