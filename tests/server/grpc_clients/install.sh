#!/bin/sh
# Installs the packages of client.js into the folder $1, unless they are there. Exit 77: npm or its registry is not there.
set -e
[ -d "$1/node_modules/@grpc/proto-loader" ] && exit 0
command -v node >/dev/null && command -v npm >/dev/null || exit 77
mkdir -p "$1"
npm install --silent --no-audit --no-fund --prefix "$1" @grpc/grpc-js@1.14.0 @grpc/proto-loader@0.8.0 >/dev/null 2>&1 || exit 77
