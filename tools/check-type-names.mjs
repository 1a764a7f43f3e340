// Reports every name that more than one file exports as an interface, type or class. A name must mean one thing in the
// whole repository. Tests, src/testing and generated code are not read.
// `node tools/check-type-names.mjs [PACKAGE...]` checks all packages, or only names that the given folders export.

import { globSync, readFileSync } from 'node:fs'

const EXPORTED = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)\b(?! from| as)/gm
const SKIPPED = /\.test\.ts$|\/(testing|generated|node_modules|dist)\/|^libs\/(csi-proto|kube-types)\//

const asked = process.argv.slice(2)
const files = new Map()
for (const file of globSync('{apps,libs,desk,testing}/*/**/*.ts', { exclude: (name) => name === 'node_modules' })) {
  if (SKIPPED.test(file.replace(/^testing\//, ''))) continue
  for (const [, name] of readFileSync(file, 'utf8').matchAll(EXPORTED)) {
    files.set(name, [...(files.get(name) ?? []), file])
  }
}
const repeated = [...files]
  .filter(([, places]) => new Set(places).size > 1)
  .filter(([, places]) => asked.length === 0 || places.some((place) => asked.some((each) => place.startsWith(each))))
for (const [name, places] of repeated.sort()) console.log(`${name}: ${[...new Set(places)].sort().join(', ')}`)
if (repeated.length > 0) process.exit(1)
