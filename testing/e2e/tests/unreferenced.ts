import { deepStrictEqual as equal } from 'node:assert'
import type { RunningSidecar } from '../harness/context.ts'
import { eventually } from '../harness/waiting.ts'

/** The parts of `/debug/unreferenced` that tests read. */
export interface UnreferencedPage {
  readonly searches: readonly { readonly scope: string; readonly undecided: number }[]
  readonly items: readonly UnreferencedItem[]
}

/** One item of the page: a volume or snapshot without an object, or an object without its volume or snapshot. */
export interface UnreferencedItem {
  readonly kind: string
  readonly reason: string
  readonly handle: string
  readonly since: string
  readonly object?: { readonly kind: string; readonly name: string }
}

export async function unreferencedPage(sidecar: RunningSidecar): Promise<UnreferencedPage> {
  const { code, text, headers } = await sidecar.http('/debug/unreferenced')
  equal([code, headers.get('content-type')], [200, 'application/json'])
  return JSON.parse(text)
}

/** Waits until `/debug/unreferenced` has at least `count` items, and returns them. */
export function untilUnreferenced(sidecar: RunningSidecar, count: number): Promise<readonly UnreferencedItem[]> {
  return eventually(`${count} unreferenced items`, async () => {
    const { items } = await unreferencedPage(sidecar)
    return items.length >= count && items
  })
}

/** Waits until `/debug/unreferenced` is empty. */
export async function nothingUnreferenced(sidecar: RunningSidecar): Promise<void> {
  await eventually('an empty report', async () => (await unreferencedPage(sidecar)).items.length === 0)
}

/** Returns the number and the size of unreferenced volumes or snapshots in the metrics. */
export async function unreferencedSeries(
  sidecar: RunningSidecar,
  plural: 'volumes' | 'snapshots',
  labels: Readonly<Record<string, string>>,
): Promise<{ readonly count: number | undefined; readonly bytes: number | undefined }> {
  const metrics = await sidecar.metrics()
  const name = `csi_sidecar_unreferenced_${plural}`
  return { count: metrics.value(name, labels), bytes: metrics.value(`${name}_bytes`, labels) }
}
