// Checks the arrows between folders, types included. Tests and src/testing are not read.
// - In `src` of each package no folders import each other in a circle of any length, nor do folders and files beside them.
// - Nothing in apps/ and libs/ imports a package of desk/ or testing/.
// `node tools/check-folders.mjs [PACKAGE...]` checks all packages, or the given folders such as libs/sidecar.

import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'

const RELATIVE = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g
const PACKAGE = /(?:\bfrom|\bimport)\s*\(?\s*'(@csi-sidecars\/[^'/]+)/g
const SKIPPED = /\.test\.ts$|(^|\/)(testing|generated)\//

const folders = globSync('{apps,libs,desk,testing}/*').filter((folder) => existsSync(join(folder, 'package.json')))
const notShipped = new Map(folders.filter((folder) => !isShipped(folder)).map((folder) => [nameOf(folder), folder]))
const checked = process.argv.length > 2 ? process.argv.slice(2) : folders

const faults = checked
  .filter((folder) => existsSync(join(folder, 'src')))
  .flatMap((folder) => {
    const files = globSync('**/*.ts', { cwd: join(folder, 'src') }).filter((file) => !SKIPPED.test(file))
    return [...circlesOf(folder, files), ...(isShipped(folder) ? importsOfDesk(folder, files) : [])]
  })
for (const fault of faults) console.log(fault)
if (faults.length > 0) process.exit(1)

function isShipped(folder) {
  return /^(apps|libs)[\\/]/.test(folder)
}

function nameOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name
}

function importsOfDesk(folder, files) {
  return files.flatMap((file) =>
    [...readFileSync(join(folder, 'src', file), 'utf8').matchAll(PACKAGE)]
      .filter(([, name]) => notShipped.has(name))
      .map(([, name]) => `${folder}/src/${file} imports ${notShipped.get(name)}, which no container ships`),
  )
}

/** Returns a text for each circle: its folders, and one import for each of its arrows. */
function circlesOf(folder, files) {
  const arrows = arrowsOf(folder, files)
  const inCircle = new Set()
  return [...arrows.keys()].flatMap((start) => {
    if (inCircle.has(start)) return []
    const circle = wayBack(start, arrows)
    // Biome reports circular imports of files.
    if (circle === undefined || circle.every(({ from }) => from.endsWith('.ts'))) return []
    for (const { from } of circle) inCircle.add(from)
    const lines = circle.map(({ example }) => `  ${example}`)
    return [[`${folder}: a circle of ${circle.map(({ from }) => from).join(', ')}`, ...lines].join('\n')]
  })
}

/** Returns the arrows between neighbours of one folder: from -> to -> an import as an example. */
function arrowsOf(folder, files) {
  const src = join(folder, 'src')
  const arrows = new Map()
  for (const file of files) {
    for (const [, path] of readFileSync(join(src, file), 'utf8').matchAll(RELATIVE)) {
      const target = relative(src, join(src, dirname(file), path))
      if (SKIPPED.test(target) || target.startsWith('..')) continue
      const [from, to] = neighbours(file, target)
      if (from === to) continue
      if (!arrows.has(from)) arrows.set(from, new Map())
      if (!arrows.get(from).has(to)) arrows.get(from).set(to, `${file} -> ${target}`)
    }
  }
  return arrows
}

/** Returns the shortest way along arrows from a place back to itself. Undefined if there is none. */
function wayBack(start, arrows) {
  const seen = new Set()
  let ways = [{ at: start, way: [] }]
  while (ways.length > 0) {
    const next = []
    for (const { at, way } of ways) {
      for (const [to, example] of arrows.get(at) ?? []) {
        const longer = [...way, { from: at, example }]
        if (to === start) return longer
        if (!seen.has(to)) next.push({ at: to, way: longer })
        seen.add(to)
      }
    }
    ways = next
  }
  return undefined
}

/** Returns the first part of each path in which the two paths differ, with the common folders before it. */
function neighbours(left, right) {
  const [a, b] = [left.split(sep), right.split(sep)]
  let at = 0
  while (at < a.length - 1 && at < b.length - 1 && a[at] === b[at]) at += 1
  return [a.slice(0, at + 1).join('/'), b.slice(0, at + 1).join('/')]
}
