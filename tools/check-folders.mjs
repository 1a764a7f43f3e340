// Finds circular imports in `src` of each package: two folders, or a folder and a file next to it, that import each
// other, types included. Tests and src/testing are not read. If there are any, the exit code is 1.
// `node tools/check-folders.mjs [PACKAGE...]` checks all packages, or the given folders such as libs/sidecar.

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g
const SKIPPED = /\.test\.ts$|(^|\/)(testing|generated)\//

const packages = process.argv.length > 2 ? process.argv.slice(2) : globSync('{apps,libs,desk,testing}/*')
const pairs = packages.filter((folder) => existsSync(join(folder, 'src'))).flatMap(pairsOf)
for (const { folder, left, right, examples } of pairs) {
  console.log(`${folder}: ${left} and ${right} import each other`)
  for (const example of examples) console.log(`  ${example}`)
}
if (pairs.length > 0) process.exit(1)

/** Returns the circular pairs of one package, with an import in each direction. */
function pairsOf(folder) {
  const src = join(folder, 'src')
  const arrows = new Map()
  for (const file of globSync('**/*.ts', { cwd: src }).filter((each) => !SKIPPED.test(each))) {
    for (const [, path] of readFileSync(join(src, file), 'utf8').matchAll(IMPORT)) {
      const target = relative(src, join(src, dirname(file), path))
      if (SKIPPED.test(target) || target.startsWith('..')) continue
      const [from, to] = neighbours(file, target)
      if (from !== to && !arrows.has(`${from} ${to}`)) arrows.set(`${from} ${to}`, `${file} -> ${target}`)
    }
  }
  return [...arrows].flatMap(([arrow, example]) => {
    const [left, right] = arrow.split(' ')
    const back = arrows.get(`${right} ${left}`)
    // Each pair is reported once. Biome already reports circular imports of two files.
    if (back === undefined || left > right || (isFile(left) && isFile(right))) return []
    return [{ folder, left, right, examples: [example, back] }]
  })
}

/** Returns the first part of each path in which the two paths differ, with the common folders before it. */
function neighbours(left, right) {
  const [a, b] = [left.split(sep), right.split(sep)]
  let at = 0
  while (at < a.length - 1 && at < b.length - 1 && a[at] === b[at]) at += 1
  return [a.slice(0, at + 1).join('/'), b.slice(0, at + 1).join('/')]
}

function isFile(path) {
  return path.endsWith('.ts')
}
