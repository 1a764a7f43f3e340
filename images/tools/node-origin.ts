import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { sha256Of } from '../release/files.ts'
import { ROOT, readJson } from './bundle.ts'
import { nodePackage } from './notices.ts'

/** Where a Node.js that is shipped comes from. */
export interface NodeOrigin {
  /** The npm package. */
  readonly name: string
  readonly version: string
  /** As in the lockfile: `sha512-...` of the published archive. */
  readonly integrity: string
  /** Of `bin/node` in it. */
  readonly sha256: string
}

interface Lockfile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
}

/** The npm package that this Node came with. */
export function ownNodePackage(): string {
  return readJson<{ name: string }>(join(nodePackage(), 'package.json')).name
}

/** What the lockfile says of a package that holds Node, and what its file is. */
export function nodeOrigin(name = ownNodePackage(), file = process.execPath): NodeOrigin {
  const locked = readJson<Lockfile>(join(ROOT, 'package-lock.json')).packages[`node_modules/${name}`]
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`)
  return { name, version: locked.version, integrity: locked.integrity, sha256: sha256Of(file) }
}

export interface Published {
  /** The project's SHASUMS256.txt, whose signature is verified already. */
  readonly checksums: string
  /** `node-v26.10.0-linux-x64.tar.xz`, as the project publishes it. */
  readonly archive: string
}

/** Why a file is not the `bin/node` that the Node.js project has published; undefined if it is, to the byte. */
export function whyNotPublished(file: string, { checksums, archive }: Published): string | undefined {
  const name = basename(archive)
  const lines = readFileSync(checksums, 'utf8').split('\n')
  const expected = lines.map((line) => line.split(/\s+/)).find(([, listed]) => listed === name)?.[0]
  if (expected === undefined) return `${checksums} does not list ${name}`
  if (sha256Of(archive) !== expected) return `${archive} is not what ${checksums} says`
  const folder = mkdtempSync(join(tmpdir(), 'node-'))
  try {
    const inside = `${name.replace(/\.tar\.\w+$/, '')}/bin/node`
    execFileSync('tar', ['-xf', archive, '-C', folder, inside])
    const [theirs, ours] = [sha256Of(join(folder, inside)), sha256Of(file)]
    return theirs === ours ? undefined : `${file} has SHA-256 ${ours}, and that of ${name} has ${theirs}`
  } finally {
    rmSync(folder, { recursive: true })
  }
}
