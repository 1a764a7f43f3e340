import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAMS, readBundle } from '../tools/bundle.ts'
import { type Advisory, type NodeEntry, nodeAdvisories, npmAdvisories, type OsvEntry } from './advisory.ts'
import type { Shipped } from './decide.ts'

const OSV = 'https://api.osv.dev/v1/query'
const LIMIT = 60_000

export interface Published {
  readonly shipped: Shipped
  /** Those about what is shipped. */
  readonly advisories: readonly Advisory[]
}

/** What is bundled here, and what is published about it. `folder` has the list of the Node.js project. */
export async function readPublished(folder: string): Promise<Published> {
  const node = process.versions.node
  const packages = new Map(PROGRAMS.flatMap((name) => readBundle(name).packages.map((one) => [one.name, one.version])))
  const files = globSync('*.json', { cwd: folder }).map((file) => readFileSync(join(folder, file), 'utf8'))
  if (files.length === 0) throw new Error(`${folder} has no advisories`)
  // Beside an entry for each file there may be one file with all of them.
  const entries = files.map((text) => JSON.parse(text) as Partial<NodeEntry>)
  const single = entries.filter((entry): entry is NodeEntry => Array.isArray(entry.cve))
  const ofPackages = await Promise.all([...packages].map(([name, version]) => askOsv(name, version)))
  return {
    shipped: Object.fromEntries([['node', node], ...[...packages].map(([name, version]) => [`npm:${name}`, version])]),
    advisories: [...nodeAdvisories(single, node), ...ofPackages.flat()],
  }
}

async function askOsv(name: string, version: string): Promise<readonly Advisory[]> {
  const body = JSON.stringify({ version, package: { name, ecosystem: 'npm' } })
  const answer = await fetch(OSV, { method: 'POST', body, signal: AbortSignal.timeout(LIMIT) })
  if (!answer.ok) throw new Error(`${OSV} answers ${answer.status} about ${name} ${version}`)
  const { vulns = [] } = (await answer.json()) as { readonly vulns?: readonly OsvEntry[] }
  return npmAdvisories(vulns, name)
}
