import { type Home, registryOf } from '../tools/fill.ts'
import { type CosignOptions, keyless } from './cosign.ts'

/** Where a rehearsal has its release, and how it verifies there. */
export interface Rehearsed {
  /** Host and owner. */
  readonly registry: string
  readonly version: string
  readonly cosign: CosignOptions
}

/** The lines of a document that verify a release with cosign. */
export function verifyLines(document: string): readonly string[] {
  return document.split('\n').filter((line) => line.startsWith('cosign verify'))
}

/**
 * The arguments of such a line for a rehearsal: its registry and version, and who must have signed there. Throws where
 * the line accepts another identity than that of the release workflow.
 */
export function rehearsedArguments(line: string, home: Home, { registry, version, cosign }: Rehearsed): string[] {
  const [, ...words] = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
  const identity = keyless(home).verifying
  const at = words.indexOf(identity[0] ?? '')
  const named = at < 0 ? [] : words.splice(at, identity.length, ...cosign.verifying)
  if (named.join(' ') !== identity.join(' ')) throw new Error(`the line does not name who must have signed: ${line}`)
  const published = registryOf(home)
  const about = words.map((word) =>
    word.startsWith(`${published}/`)
      ? `${registry}${word.slice(published.length).replace(/:[^:]*$/, '')}:${version}`
      : word,
  )
  return [...about, ...cosign.registry]
}
