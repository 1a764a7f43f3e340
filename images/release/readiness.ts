import { type Changelogs, sectionOf } from './notes.ts'

export interface Readiness {
  /** `v1.2.3` */
  readonly tag: string
  /** Of the sidecars. */
  readonly version: string
  /** The files of `.changeset`. */
  readonly changesets: readonly string[]
  /** Those that a version before the release has named already, as `.changeset/pre.json` says. */
  readonly named: readonly string[]
  readonly changelogs: Changelogs
}

/** Why a tag must not be released; empty if it may. The notes have to name everything that is shipped. */
export function whyNotReady({ tag, version, changesets, named, changelogs }: Readiness): readonly string[] {
  const pending = changesets.filter((file) => /^(?!README).*\.md$/.test(file) && !named.includes(file.slice(0, -3)))
  const silent = Object.entries(changelogs).filter(([, text]) => sectionOf(text, version) === undefined)
  return [
    ...(tag === `v${version}` ? [] : [`the tag is ${tag}, and the version of the sidecars is ${version}`]),
    ...(pending.length === 0
      ? []
      : [
          `${pending.length} changesets are pending (${pending.join(', ')}): merge "Versions of the next release" first`,
        ]),
    ...(silent.length === Object.keys(changelogs).length ? [`no changelog has a section for ${version}`] : []),
  ]
}
