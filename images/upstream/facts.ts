import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { Project } from './projects.ts'

const SPEC = 'github.com/container-storage-interface/spec'
const MOST_BYTES = 64 * 1024 * 1024

/** What users and other programs see of a Go module. Each fact has a name, so that two versions can be compared. */
export interface Facts {
  readonly version: string
  /** By kind of fact and by name. A fact that is only there or not has an empty value. */
  readonly facts: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/** What the program in `facts` prints. */
interface Printed {
  readonly flags: Readonly<Record<string, string>>
  readonly gates: Readonly<Record<string, string>>
  readonly metrics: readonly string[] | null
  readonly messages: readonly string[] | null
  readonly fields: Readonly<Record<string, string>>
}

interface Source {
  readonly version: string
  readonly folder: string
}

export function factsOf({ folders, rbac, types }: Project, { version, folder }: Source): Facts {
  const printed = printedFacts(folders.map((each) => join(folder, each)).filter(existsSync))
  if (types !== undefined) return { version, facts: { fields: fieldsOf(printed, types) } }
  const { flags, gates, metrics, messages } = printed
  return {
    version,
    facts: {
      flags,
      gates,
      metrics: present(metrics ?? []),
      messages: present(messages ?? []),
      ...(rbac !== undefined && { permissions: permissionsIn(readFileSync(join(folder, rbac), 'utf8')) }),
      csi: csiVersionIn(readFileSync(join(folder, 'go.mod'), 'utf8')),
    },
  }
}

/** The sources are read by Go's own parser. */
function printedFacts(folders: readonly string[]): Printed {
  const options = { cwd: join(import.meta.dirname, 'facts'), encoding: 'utf8', maxBuffer: MOST_BYTES } as const
  return JSON.parse(execFileSync('go', ['run', '.', ...folders], options)) as Printed
}

function fieldsOf({ fields }: Printed, types: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => types.includes(name.split('.')[0] ?? '')))
}

function present(names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, '']))
}

interface Role {
  readonly kind?: string
  readonly rules?: readonly {
    readonly apiGroups?: readonly string[]
    readonly resources?: readonly string[]
    readonly verbs?: readonly string[]
  }[]
}

/** By resource, the verbs that the manifest's roles allow. */
export function permissionsIn(manifest: string): Readonly<Record<string, string>> {
  const verbs = new Map<string, Set<string>>()
  for (const role of loadAll(manifest) as readonly (Role | null)[]) {
    for (const { apiGroups = [], resources = [], verbs: allowed = [] } of role?.rules ?? []) {
      for (const resource of resources.flatMap((each) =>
        apiGroups.map((group) => (group === '' ? each : `${each}.${group}`)),
      )) {
        verbs.set(resource, (verbs.get(resource) ?? new Set()).union(new Set(allowed)))
      }
    }
  }
  return Object.fromEntries([...verbs].map(([resource, allowed]) => [resource, [...allowed].sort().join(' ')]))
}

export function csiVersionIn(goMod: string): Readonly<Record<string, string>> {
  const [, version] = goMod.match(new RegExp(`^\\s*(?:require )?${SPEC} (\\S+)`, 'm')) ?? []
  return version === undefined ? {} : { spec: version }
}
