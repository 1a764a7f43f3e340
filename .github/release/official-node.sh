#!/bin/sh
# official-node.sh ARCHITECTURE KEYRING FOLDER: downloads the Node.js version of .nvmrc from nodejs.org, and verifies it
# by the signed checksums. Prints the path of the program.
set -eu
architecture=$1 keyring=$2 folder=$3

version="v$(cat .nvmrc)"
name="node-$version-linux-$architecture"
mkdir -p "$folder"
for file in SHASUMS256.txt SHASUMS256.txt.sig "$name.tar.xz"; do
  curl --fail --silent --show-error --proto =https --output "$folder/$file" "https://nodejs.org/dist/$version/$file"
done
gpgv --quiet --keyring "$keyring" "$folder/SHASUMS256.txt.sig" "$folder/SHASUMS256.txt" >&2
cd "$folder"
grep "  $name.tar.xz\$" SHASUMS256.txt | sha256sum --check --strict --quiet >&2
tar -xf "$name.tar.xz" "$name/bin/node" "$name/LICENSE"
echo "$PWD/$name/bin/node"
