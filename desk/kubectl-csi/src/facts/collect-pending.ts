import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import { isNotFound } from '@csi-sidecars/kube-client'
import type { Lease, Pod } from '@csi-sidecars/kube-types'
import { containersOf } from './collect-sidecars.ts'
import type { FactCollection } from './collection.ts'
import { leaseKey } from './leases.ts'
import { pendingPage } from './pending.ts'

/** Milliseconds to wait for the answer of a leader. */
export const LIMIT_MS = 1_500
const NO_PATH = 'its endpoint has no such path, as those of the Go sidecars'
/** The maximum number of pages to read from one sidecar. */
const MAX_PAGES = 40

/** The place where the answers of the leaders are collected, and the signal that ends the wait for them. */
export interface LeaderQuestion {
  readonly into: FactCollection
  readonly signal: AbortSignal
}

/**
 * Reads the pending work of each leader through the API server's proxy to pods. Call `collectSidecarPods` before.
 * Leaders that have no pod or no HTTP endpoint, and Go sidecars, are recorded as not seen.
 */
export async function collectPending(into: FactCollection, clock: Clock, signal: AbortSignal): Promise<void> {
  await askLeaders(into, { page: '/debug/stuck', clock, signal }, ask)
}

/**
 * Calls `ask` with the proxy path of a page of each leader. Call `collectSidecarPods` before. Leaders that have no pod or
 * no HTTP endpoint, and Go sidecars, are recorded as not seen.
 */
export async function askLeaders(
  into: FactCollection,
  { page, clock, signal }: { readonly page: string; readonly clock: Clock; readonly signal: AbortSignal },
  ask: (lease: Lease, path: string, question: LeaderQuestion) => Promise<void>,
): Promise<void> {
  const asked = new Set<string>()
  await Promise.all(
    into.sidecarLeases.filter(isHeld).map(async (lease) => {
      const endpoint = endpointOf(lease, page, into)
      // Sidecars in one process share one endpoint.
      if (endpoint === undefined || asked.has(endpoint)) return
      asked.add(endpoint)
      using limit = deadline(clock, LIMIT_MS, { operation: `asking ${endpoint}`, signal })
      try {
        await ask(lease, endpoint, { into, signal: limit.signal })
      } catch (error) {
        signal.throwIfAborted()
        notSeen(into, { lease, page }, isNotFound(error) ? NO_PATH : messageOf(error))
      }
    }),
  )
}

function isHeld(lease: Lease): boolean {
  return (lease.spec?.holderIdentity ?? '') !== ''
}

async function ask(lease: Lease, endpoint: string, { into, signal }: LeaderQuestion): Promise<void> {
  let path = `${endpoint}?limit=500`
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = pendingPage(await into.reader.raw(path, { timeoutMs: LIMIT_MS, signal }))
    if (page === undefined) throw new Error('its answer is no list of pending work')
    into.pending.push(...page.items)
    if (page.missingPermissions.length > 0) into.missingPermissions.set(leaseKey(lease), page.missingPermissions)
    if (page.continue === undefined) return
    path = `${endpoint}?limit=500&continue=${encodeURIComponent(page.continue)}`
  }
  throw new Error(`it has more than ${MAX_PAGES} pages of pending work, the rest was not read`)
}

/** Returns the proxy path of a page of the leader. If there is none, records why and returns undefined. */
function endpointOf(lease: Lease, page: string, into: FactCollection): string | undefined {
  const { namespace, name = '' } = lease.metadata ?? {}
  const holder = lease.spec?.holderIdentity
  const [pod] = into.sidecarPods.get(leaseKey(lease)) ?? []
  if (pod === undefined) {
    notSeen(into, { lease, page }, `its leader ${holder} is no pod of namespace ${namespace} that could be read`)
    return undefined
  }
  const found = listenerOf(pod, name)
  if (found !== undefined) return `/api/v1/namespaces/${namespace}/pods/${found}/proxy${page}`
  notSeen(into, { lease, page }, `pod ${namespace}/${holder} has no container of it with --http-endpoint`)
  return undefined
}

/** Returns `pod:port`, with `https:` in front if the sidecar serves TLS. */
export function listenerOf(pod: Pod, lease: string): string | undefined {
  for (const { args = [], command = [] } of containersOf(pod, lease)) {
    const tokens = [...command, ...args].join(' ').split(/\s/)
    const port = tokens.map(portOf).find((found) => found !== undefined)
    if (port === undefined) continue
    const tls = tokens.some((word) => /^--?tls-/.test(word))
    return `${tls ? 'https:' : ''}${pod.metadata?.name}:${port}`
  }
  return undefined
}

/** Returns the port of `--http-endpoint=:8080` or `--http-endpoint :8080`. */
function portOf(word: string, at: number, tokens: readonly string[]): string | undefined {
  const address = word.endsWith('-http-endpoint') ? tokens[at + 1] : word.split('-http-endpoint=')[1]
  return /:(\d+)$/.exec(address ?? '')?.[1]
}

function notSeen(
  { reader }: FactCollection,
  { lease, page }: { readonly lease: Lease; readonly page: string },
  why: string,
): void {
  reader.notSeen({ what: `${page} of ${lease.metadata?.name}`, why, essential: false })
}
