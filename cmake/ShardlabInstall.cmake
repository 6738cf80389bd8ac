# Install rules and the exported package (find_package(shardlab)).
