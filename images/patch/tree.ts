import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rewrite } from '../tools/fill.ts'
import { changesetOf, isNode, type Lockfile, type Move, strayChanges } from './decide.ts'

const LOCKFILE = 'package-lock.json'
/** Everything that a change must pass, and the whole release, built twice in different folders. */
const GATES: readonly (readonly [string, ...string[]])[] = [
  ['npm', 'ci', '--strict-allow-scripts'],
  ['npm', 'exec', '--', 'node', 'tools/docs/main.ts'],
  ['.ci/run'],
]

type Dependencies = Record<string, string>
interface Manifest {
  readonly dependencies?: Dependencies
  readonly devDependencies?: Dependencies
  readonly optionalDependencies?: Dependencies
}

/** Moves components in the manifests, the workflows and the lockfile, and writes the notes. */
export function applyMoves(root: string, moves: readonly Move[]): void {
  const before = readLockfile(root)
  for (const file of globSync(['package.json', '*/package.json', '{apps,libs,testing}/*/package.json'], {
    cwd: root,
  })) {
    rewrite(join(root, file), (text) => moves.reduce(inManifest, text))
  }
  for (const file of globSync('.github/{workflows,actions/*}/*.yml', { cwd: root })) {
    rewrite(join(root, file), (text) => moves.reduce(inWorkflow, text))
  }
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const after = readLockfile(root)
  const stray = strayChanges(before, after, moves)
  if (stray.length > 0) throw new Error(`the fix changes other packages: ${stray.join('; ')}`)
  const unmoved = moves.filter(({ component, from }) => stillThere(after, component, from))
  if (unmoved.length > 0) {
    const names = unmoved.map(({ component, from }) => `${component} ${from}`)
    throw new Error(`${names.join(', ')} is still in the lockfile: another package asks for it, a person has to look`)
  }
  writeFileSync(join(root, '.changeset/fixes-of-advisories.md'), changesetOf(moves))
}

/** The first gate that is red. */
export function redGate(root: string, gates = GATES): string | undefined {
  const red = gates.find(([program, ...args]) => {
    const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
    if (error !== undefined) throw error
    return status !== 0
  })
  return red?.join(' ')
}

function readLockfile(root: string): Lockfile {
  return JSON.parse(readFileSync(join(root, LOCKFILE), 'utf8')) as Lockfile
}

function stillThere({ packages }: Lockfile, component: string, version: string): boolean {
  return Object.entries(packages).some(([place, found]) => {
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return found.version === version && (component === 'node' ? isNode(name) : component === `npm:${name}`)
  })
}

function inManifest(text: string, { component, from, to }: Move): string {
  const manifest = JSON.parse(text) as Manifest
  const { dependencies = {}, devDependencies = {}, optionalDependencies = {} } = manifest
  const names = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  const moved = names.filter((name) => (component === 'node' ? isNode(name) : component === `npm:${name}`))
  return moved.reduce((changed, name) => changed.replaceAll(`"${name}": "${from}"`, `"${name}": "${to}"`), text)
}

const inWorkflow = (text: string, { component, from, to }: Move): string =>
  component === 'node' ? text.replaceAll(`node-version: ${from}`, `node-version: ${to}`) : text
