import type { AttachmentState } from '../model/attachment-rules.ts'
import type { ClaimState } from '../model/claims.ts'
import { NOTE } from '../model/foreign.ts'

interface Described {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> | undefined } | undefined
}

/**
 * Returns the end state of claims and attachments, by object name. It must be equal for our sidecars and the Go
 * sidecars, and contains only fields that sidecars write.
 */
export function endsOf(
  { attachments, slots }: AttachmentState,
  claims: readonly ClaimState[],
  id: string,
): ReadonlyMap<string, string> {
  const desired = [...attachments].filter(([name]) => slots.get(name)?.isDesired === true)
  const entries: readonly (readonly [string, object])[] = [
    ...desired.map(([name, each]) => [name, { ...metadataOf(each), attached: each.status?.attached }] as const),
    ...claims.flatMap(({ name, request, claim, volume }) => {
      const which = `${name} with ${request.gibibytes} GiB`
      return [[which, metadataOf(claim)] as const, [`volume of ${which}`, metadataOf(volume)] as const]
    }),
  ]
  const plain = (text: string): string => text.replaceAll(id, 'X')
  return new Map(entries.map(([name, each]) => [plain(name), plain(JSON.stringify(each))]))
}

function metadataOf(object: Described | undefined): object {
  const annotations = Object.entries(object?.metadata?.annotations ?? {}).sort()
  return { annotations: annotations.filter(([name]) => name !== NOTE) }
}

/**
 * Lists the differences between the end states of two implementations, one line each. Omits objects that only one of
 * the two states contains.
 */
export function endDifferences(
  ours: ReadonlyMap<string, string>,
  original: ReadonlyMap<string, string>,
): readonly string[] {
  return [...ours].flatMap(([name, end]) => {
    const other = original.get(name)
    return other === undefined || other === end ? [] : [`${name}: ${end}, and ${other} with the Go sidecars`]
  })
}
