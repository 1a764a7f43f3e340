import { type KubeObject, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import type { Api } from '../../e2e/harness/api/api.ts'
import { eventually } from '../../e2e/harness/waiting.ts'
import { type Put, putAll } from './etcd.ts'

/** The limit of writes in one transaction of etcd. */
const BATCH = 128

/** An API server and its store. */
export interface Server {
  readonly api: Api
  readonly cluster: { readonly etcdUrl: string }
}

export interface Original {
  readonly resource: Resource<KubeObject>
  readonly name: string
  readonly namespace?: string
}

export interface Copies {
  /** The copied objects. They are created through the API, so that the copies have all fields that a server adds. */
  readonly originals: readonly Original[]
  readonly count: number
  /** The number of the first copy. Default: 0. */
  readonly from?: number
  /** The key or the text of an original for the copy with this number. */
  readonly rename: (text: string, number: number) => string
}

/**
 * Writes copies of existing objects directly into the server's store, because single requests would take minutes.
 * References by UID stay within one set of copies. Returns the written entries, set by set.
 */
export async function makeCopies({ api, cluster }: Server, copies: Copies): Promise<readonly Put[]> {
  const { originals, count, from = 0, rename } = copies
  const templates = await Promise.all(originals.map((original) => stored(api, original)))
  const puts = Array.from({ length: count }, (_, index) => {
    const number = from + index
    const copy = (text: string): string =>
      templates.reduce((result, { uid }) => result.replaceAll(uid, numbered(uid, number)), rename(text, number))
    return templates.map(({ key, text }) => ({ key: copy(key), value: copy(text) }))
  }).flat()
  for (let at = 0; at < puts.length; at += BATCH) await putAll(cluster.etcdUrl, puts.slice(at, at + BATCH))
  return puts
}

/** An object as the server's store has it. */
export async function stored(api: Api, { resource, name, namespace }: Original) {
  const { metadata, ...rest } = await api.get<KubeObject>(resource, { name, namespace })
  const { resourceVersion: _, ...kept } = { ...metadata }
  const key = [registryOf(resource), ...(namespace === undefined ? [] : [namespace]), name].join('/')
  return { key, text: JSON.stringify({ ...rest, metadata: kept }), uid: kept.uid ?? '' }
}

/** The store has the objects of a CustomResourceDefinition in a folder of their group. */
export function registryOf({ group, plural }: Resource<unknown>): string {
  return group.includes('snapshot') ? `/registry/${group}/${plural}` : `/registry/${plural}`
}

/** Waits until the server has this many objects. */
export async function mustHold(
  { api }: Pick<Server, 'api'>,
  resource: Resource<unknown>,
  { count, atLeast = false }: { count: number; atLeast?: boolean },
): Promise<void> {
  const look = async (): Promise<boolean> => {
    const page = await firstPage(api, resource)
    const found = page.items.length + (page.metadata.remainingItemCount ?? 0)
    return atLeast ? found >= count : found === count
  }
  await eventually(`${count} ${resource.plural}`, look, { within: 60_000, every: 200 })
}

/** Waits until the server's cache has what etcd has: a read of a version waits for it, and is refused after 3 s. */
export async function mustBeCached({ api }: Pick<Server, 'api'>, resource: Resource<unknown>): Promise<void> {
  const { items, metadata } = await firstPage(api, resource)
  const [first] = items
  if (first === undefined) return
  const path = `${resourcePath(resource, first.metadata)}?resourceVersion=${metadata.resourceVersion}`
  const read = (): Promise<unknown> => api.call('GET', path)
  await eventually(`${resource.plural} in the cache of the server`, read, { within: 300_000, every: 200 })
}

/** Reads the first page, with one object. */
function firstPage(api: Api, resource: Resource<unknown>): Promise<Page> {
  return api.call<Page>('GET', `${resourcePath(resource, {})}?limit=1`)
}

interface Page {
  readonly items: readonly { readonly metadata: { readonly name: string } }[]
  readonly metadata: { readonly resourceVersion: string; readonly remainingItemCount?: number }
}

/** The uid with its first digits replaced. */
function numbered(uid: string, number: number): string {
  return number.toString(16).padStart(8, '0') + uid.slice(8)
}
