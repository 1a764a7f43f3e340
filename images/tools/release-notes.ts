// Prints the notes of a release, from the changelogs of all released programs: node images/tools/release-notes.ts 1.2.3
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './bundle.ts'
import { RELEASED } from './released.ts'

/** The changelogs that changesets has written, by the name of the program. */
export type Changelogs = ReadonlyMap<string, string>

/**
 * Returns the changes of a version: each sentence once, with the programs that have it. A change of all programs names
 * none.
 *
 * Errors: throws if no changelog has the version.
 */
export function releaseNotes(changelogs: Changelogs, version: string): string {
  return [...changesByKind(changelogs, version)]
    .map(([kind, changes]) => {
      const rows = changes.map(({ change, programs }) => {
        const named = programs === undefined ? '' : `**${programs}:** `
        return `- ${named}${change}`
      })
      return `### ${kind}\n\n${rows.join('\n')}\n`
    })
    .join('\n')
}

/**
 * Returns the changes of a version as the YAML that Artifact Hub shows beside a chart: a kind and the first paragraph of
 * each change.
 *
 * Errors: throws if no changelog has the version.
 */
export function artifactHubChanges(changelogs: Changelogs, version: string): string {
  return [...changesByKind(changelogs, version)]
    .flatMap(([kind, changes]) =>
      changes.map(({ change, programs }) => {
        const [paragraph = ''] = change.split(/\n\s*\n/)
        const named = programs === undefined ? '' : `${programs}: `
        const description = `${named}${paragraph.replace(/\s+/g, ' ')}`
        return `- kind: ${kind === 'Patch Changes' ? 'fixed' : 'changed'}\n  description: ${JSON.stringify(description)}\n`
      }),
    )
    .join('')
}

interface NamedChange {
  readonly change: string
  /** The programs that have the change. Undefined: all. */
  readonly programs: string | undefined
}

/** Returns each change of the version once, by the heading above it. Throws if no changelog has the version. */
function changesByKind(changelogs: Changelogs, version: string): ReadonlyMap<string, readonly NamedChange[]> {
  const kinds = new Map<string, Map<string, string[]>>()
  for (const [program, changelog] of changelogs) {
    for (const { kind, change } of changesOf(changelog, version)) {
      const changes = kinds.get(kind) ?? new Map<string, string[]>()
      kinds.set(kind, changes.set(change, [...(changes.get(change) ?? []), program]))
    }
  }
  if (kinds.size === 0) throw new Error(`no changelog has changes of ${version}`)
  const named = ([change, programs]: readonly [string, readonly string[]]): NamedChange => ({
    change,
    programs: programs.length === changelogs.size ? undefined : programs.join(', '),
  })
  return new Map([...kinds].map(([kind, changes]) => [kind, [...changes].map(named)]))
}

/** Returns the changelogs of all released programs. Empty before the first release. */
export function releasedChangelogs(): Changelogs {
  return new Map(
    RELEASED.flatMap(({ name, folder }): readonly (readonly [string, string])[] => {
      const file = join(ROOT, folder, 'CHANGELOG.md')
      return existsSync(file) ? [[name, readFileSync(file, 'utf8')]] : []
    }),
  )
}

interface Change {
  /** The heading above the change, for example `Minor Changes`. */
  readonly kind: string
  readonly change: string
}

function changesOf(changelog: string, version: string): readonly Change[] {
  const section = changelog.split(/^## /m).find((text) => text.startsWith(`${version}\n`)) ?? ''
  return section
    .split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const [kind = '', ...items] = part.split(/^- (?:[0-9a-f]{7,40}: )?/m)
      return items
        .filter((item) => !item.startsWith('Updated dependencies'))
        .map((item) => ({ kind: kind.trim(), change: item.trimEnd() }))
    })
}

if (import.meta.main) {
  const [, , version = ''] = process.argv
  process.stdout.write(releaseNotes(releasedChangelogs(), version))
}
