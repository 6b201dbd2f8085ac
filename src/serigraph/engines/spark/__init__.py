"""The engine for a cluster: Spark partitions the people, the local functions do the work."""
