// Checks the arrows between packages and between folders, types included. Tests and src/testing are not read.
// - A package of apps/ or libs/ depends on none of desk/ or testing/. Biome checks that imports are declared.
// - In `src` of a package no folders import each other, in a circle of any length. Biome checks circles of files.
// - A folder of testing/e2e imports only from the folders below it, in the order of E2E_LEVELS.
// dependency-cruiser 18.7 cannot do this here: it reads types by TypeScript up to 6 alone, and its parser of swc stops at
// `using`.
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g
const SKIPPED = /\.test\.ts$|(^|\/)(testing|gen)\//

const packages = globSync('{apps,libs,desk,testing}/*/package.json').map((path) => ({
  folder: dirname(path),
  manifest: JSON.parse(readFileSync(path, 'utf8')),
}))
const isShipped = ({ folder }) => /^(apps|libs)[\\/]/.test(folder)
const notShipped = new Set(packages.filter((each) => !isShipped(each)).map(({ manifest }) => manifest.name))

const E2E = 'testing/e2e'
/** The folders of testing/e2e from the lowest. Those of the last level do not import each other. */
const E2E_LEVELS = [['harness'], ['rows'], ['model'], ['tests', 'faults', 'histories', 'parity', 'public-drivers']]

const faults = packages.flatMap((each) => {
  const { folder, manifest } = each
  const wrong = Object.keys(manifest.dependencies ?? {}).filter((name) => isShipped(each) && notShipped.has(name))
  return [
    ...wrong.map((name) => `${folder} depends on ${name}, which no container ships`),
    ...circlesOf(arrowsOf(join(folder, 'src'))).map(({ from, to, example }) => `${from} and ${to}: ${example}`),
  ]
})
const upward = importsOf(`${E2E}/**/*.ts`).filter(([file, target]) => target.startsWith(E2E) && isUpward(file, target))
faults.push(...upward.map(([file, target]) => `${file} imports ${target}, which is not below it`))
for (const fault of faults) console.log(fault)
if (faults.length > 0) process.exitCode = 1

/** Returns the arrows between neighbours of one folder, with the import that makes each arrow. */
function arrowsOf(src) {
  return importsOf(`${src}/**/*.ts`)
    .filter(([file, target]) => target.startsWith(src) && !SKIPPED.test(file) && !SKIPPED.test(target))
    .map(([file, target]) => ({ ...neighbours(file, target), example: `${file} imports ${target}` }))
}

/** Returns the relative imports of the files: each file with a target. */
function importsOf(pattern) {
  return globSync(pattern).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, path]) => [file, join(dirname(file), path)]),
  )
}

/** Reports whether an import of testing/e2e leads to another folder of the same or a higher level. */
function isUpward(file, target) {
  const folderOf = (path) => path.split(sep)[2]
  const levelOf = (path) => E2E_LEVELS.findIndex((level) => level.includes(folderOf(path)))
  return folderOf(file) !== folderOf(target) && levelOf(file) !== -1 && levelOf(target) >= levelOf(file)
}

/** Returns the first part of each path in which the two paths differ, with the common folders before it. */
function neighbours(file, target) {
  const [left, right] = [file.split(sep), target.split(sep)]
  const end = left.findIndex((part, at) => part !== right[at]) + 1
  return { from: left.slice(0, end).join('/'), to: right.slice(0, end).join('/') }
}

/** Returns the arrows of circles, and arrows that lead from one circle to another. */
function circlesOf(arrows) {
  const [sources, targets] = [new Set(arrows.map(({ from }) => from)), new Set(arrows.map(({ to }) => to))]
  const rest = arrows.filter(({ from, to }) => targets.has(from) && sources.has(to))
  return rest.length === arrows.length ? rest : circlesOf(rest)
}
