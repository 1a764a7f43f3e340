import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Layout } from '../tools/layout.ts'
import { planOf, type Subject } from './plan.ts'
import { type Credentials, Registry } from './registry.ts'

/** What the scripts of a release have in common. They need nothing but Node.js: nothing is installed where they sign. */
export interface Release {
  readonly version: string
  readonly host: string
  readonly owner: string
  /** Of each machine of the build: `files` and `layout`. */
  readonly built: readonly string[]
  /** Where everything for the release page is. */
  readonly files: string
  readonly subjects: readonly Subject[]
  readonly registry: Registry
}

export interface ReleaseOptions {
  readonly version: string
  /** `ghcr.io/owner` */
  readonly registry: string
  /** The folder with one folder for each machine of the build. */
  readonly built: string
  readonly files: string
  /** How many machines must have built something. */
  readonly machines: number
  readonly credentials?: Credentials
}

export function releaseOf({ version, registry, built, files, machines, credentials }: ReleaseOptions): Release {
  const [host = '', owner = ''] = registry.split('/')
  const folders = readdirSync(built)
    .sort()
    .map((name) => join(built, name))
  if (folders.length !== machines)
    throw new Error(`${built} has what ${folders.length} machines built, not ${machines}`)
  const layouts = folders.map((folder) => new Layout(join(folder, 'layout')))
  return {
    version,
    host,
    owner,
    built: folders,
    files: resolve(files),
    subjects: planOf({ layouts, owner, version }),
    registry: new Registry({ host, ...(credentials !== undefined && { credentials }) }),
  }
}

/** From the command line and, what is secret, from the environment. */
export function releaseFromArguments(usage: string, machines: number): Release {
  const type = 'string'
  const options = { version: { type }, registry: { type }, built: { type }, files: { type } } as const
  const { version, registry, built, files } = parseArgs({ options }).values
  if (version === undefined || registry === undefined || built === undefined || files === undefined) {
    throw new Error(`usage: ${usage}`)
  }
  const { REGISTRY_USER: user, REGISTRY_TOKEN: token } = process.env
  const credentials = user !== undefined && token !== undefined ? { user, token } : undefined
  const given = { version, registry, built, files, machines }
  return releaseOf({ ...given, ...(credentials !== undefined && { credentials }) })
}
