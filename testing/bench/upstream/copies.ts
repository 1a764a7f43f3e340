import { type KubeObject, type Resource, resourcePath } from '@csi-sidecars/kube-types'
import type { Api } from '../../e2e/harness/api/api.ts'
import { eventually } from '../../e2e/harness/waiting.ts'

/** One object as an etcd entry: its key, and its JSON text. */
export interface PutRequest {
  readonly key: string
  readonly value: string
}

/** An API server and the etcd that stores its objects. */
export interface Server {
  readonly api: Api
  readonly cluster: { readonly etcdUrl: string }
}

/** A reference to an existing object of the API server, whose content the copies repeat. */
export interface Original {
  readonly resource: Resource<KubeObject>
  readonly name: string
  readonly namespace?: string
}

/** The number and the names of the copies that `makeCopies` creates of each original. */
export interface Copies {
  /** The objects to copy. They exist in the API server, so they contain its default values. */
  readonly originals: readonly Original[]
  readonly count: number
  /** The number of the first copy. Default: 0. */
  readonly from?: number
  /** Returns `text`, an etcd key or an object as JSON, with the name of the copy `number`. */
  readonly rename: (text: string, number: number) => string
}

/** Sends a request to the JSON gateway of etcd. */
export async function askEtcd(etcdUrl: string, endpoint: 'txn' | 'deleterange', body: object): Promise<void> {
  const answer = await fetch(`${etcdUrl}/v3/kv/${endpoint}`, {
    method: 'POST',
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(WITHIN_MS),
  })
  if (!answer.ok) throw new Error(`etcd refused ${endpoint}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

/** Encodes a key or a value for the JSON gateway of etcd. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Writes objects in one etcd transaction. */
export function putAll(etcdUrl: string, puts: readonly PutRequest[]): Promise<void> {
  const success = puts.map(({ key, value }) => ({ requestPut: { key: base64(key), value: base64(value) } }))
  return askEtcd(etcdUrl, 'txn', { success })
}

const WITHIN_MS = 30_000

/** The number of writes in one etcd transaction. etcd allows at most 128. */
const BATCH = 128

/**
 * Writes copies of existing objects directly into etcd, because single API requests would take minutes. If the existing
 * objects refer to each other by UID, the copies do so, too. Returns the etcd entries, ordered by copy number.
 */
export async function makeCopies({ api, cluster }: Server, copies: Copies): Promise<readonly PutRequest[]> {
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

/** Returns the etcd key and the JSON text of an object. */
export async function stored(api: Api, { resource, name, namespace }: Original) {
  const { metadata, ...rest } = await api.get<KubeObject>(resource, { name, namespace })
  const { resourceVersion: _, ...kept } = { ...metadata }
  const key = [registryOf(resource), ...(namespace === undefined ? [] : [namespace]), name].join('/')
  return { key, text: JSON.stringify({ ...rest, metadata: kept }), uid: kept.uid ?? '' }
}

/** Returns the etcd prefix of a resource. For a CustomResourceDefinition it contains the API group. */
export function registryOf({ group, plural }: Resource<unknown>): string {
  return group.includes('snapshot') ? `/registry/${group}/${plural}` : `/registry/${plural}`
}

interface Page {
  readonly items: readonly unknown[]
  readonly metadata: { readonly remainingItemCount?: number }
}

/** Waits until the API server has `count` objects of the resource, or more if `atLeast` is true. */
export async function mustHold(
  { api }: Pick<Server, 'api'>,
  resource: Resource<unknown>,
  { count, atLeast = false }: { count: number; atLeast?: boolean },
): Promise<void> {
  const hasCount = async (): Promise<boolean> => {
    const page = await api.call<Page>('GET', `${resourcePath(resource, {})}?limit=1`)
    const found = page.items.length + (page.metadata.remainingItemCount ?? 0)
    return atLeast ? found >= count : found === count
  }
  await eventually(`${count} ${resource.plural}`, hasCount, { within: 60_000, every: 200 })
}

/** Returns the UID with its first eight digits replaced by the number. */
function numbered(uid: string, number: number): string {
  return number.toString(16).padStart(8, '0') + uid.slice(8)
}
