import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { RELEASED } from './released.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
type Released = (typeof RELEASED)[number]
/**
 * The name of a program that is shipped as an executable: each sidecar, the process of all sidecars, and the kubectl
 * plugin.
 */
export type Program = Released['name']
export const PROGRAMS: readonly Program[] = RELEASED.map(({ name }) => name)
/** The name of a program that is shipped as an executable and as an image. */
export type Sidecar = Extract<Released, { readonly image: true }>['name']
export const SIDECARS: readonly Sidecar[] = RELEASED.flatMap((row) => (row.image ? [row.name] : []))

/** The files of a program that `npm run build` writes. */
export interface Bundle {
  readonly name: Program
  readonly file: string
  /** The path of the code cache for this machine's architecture. Undefined for the plugin, which has none. */
  readonly cache: string | undefined
  /** The flags with which Node.js starts the bundle. */
  readonly flags: readonly string[]
  readonly packages: readonly BundledPackage[]
}

/** The built files of a program that is also shipped as an image. Such a program always has a code cache. */
export interface SidecarBundle extends Bundle {
  readonly name: Sidecar
  readonly cache: string
}

/** A package from the registry that is part of a bundle. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** The licence as an SPDX expression. */
  readonly licence: string
  /** The folder in which the package is installed. */
  readonly folder: string
}

/** The script that runs first in an executable and in an image. */
export const START = join(ROOT, 'tools/start-bundle.cjs')

interface Lockfile {
  readonly packages: Readonly<Record<string, { version?: string; license?: string }>>
}

/** The report of esbuild about a bundle. */
export interface Metafile {
  readonly outputs: Readonly<Record<string, { inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>
}

/** Reads the files of a built program. If they are missing, the error says how to build them. */
export function readBundle(name: Sidecar, root?: string): SidecarBundle
export function readBundle(name: Program, root?: string): Bundle
export function readBundle(name: Program, root = ROOT): Bundle {
  const { folder, image } = RELEASED.find((row) => row.name === name) ?? RELEASED[0]
  const dist = join(root, folder, 'dist')
  const file = join(dist, `${name}.cjs`)
  if (!existsSync(file)) throw new Error(`${file} is missing: npm run build`)
  const metafile = readJson<Metafile>(join(dist, `${name}.meta.json`))
  const { execArgv } = readJson<{ execArgv: readonly string[] }>(join(dist, 'sea.json'))
  const lockfile = readJson<Lockfile>(join(root, 'package-lock.json'))
  return {
    name,
    file,
    cache: image ? join(dist, `${name}.cache`) : undefined,
    flags: execArgv,
    packages: packagesOf(metafile, lockfile, root),
  }
}

/** Returns the sorted packages whose code is in the bundle. Packages that the build drops or replaces are left out. */
export function packagesOf(metafile: Metafile, lockfile: Lockfile, root: string): readonly BundledPackage[] {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs))
  const keys = inputs.flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? (lockfileKey(path) ?? []) : []))
  return [...new Set(keys)].sort().map((key) => {
    const { version, license } = lockfile.packages[key] ?? {}
    if (version === undefined || license === undefined) {
      throw new Error(`${key} is in the bundle, but package-lock.json does not say its version and licence`)
    }
    const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return { name, version, licence: license, folder: join(root, key) }
  })
}

/** Returns the lockfile key of a file: `libs/l/node_modules/@b/c` for `../../libs/l/node_modules/@b/c/d.js`. */
function lockfileKey(path: string): string | undefined {
  return /^(?:\.\.\/)*((?:[^/]+\/)*?node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]
}

/** Returns the version of the release that is being built, or else of the attacher's package: `v1.2.3`. */
export function releaseVersion(root = ROOT, env: NodeJS.ProcessEnv = process.env): string {
  const packageVersion = readJson<{ version: string }>(join(root, 'apps/attacher/package.json')).version
  return env['RELEASE_VERSION'] || `v${packageVersion}`
}

export function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T
}
