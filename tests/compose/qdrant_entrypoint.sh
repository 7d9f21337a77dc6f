#!/bin/sh
# under the name that it has in the real image
exec python /app/qdrant_server.py
