import { type Clock, deadline, messageOf } from '@csi-sidecars/base'
import { type Lease, PODS, type Pod } from '@csi-sidecars/kube-types'
import type { Collection } from './collection.ts'
import { objectOf } from './facts.ts'
import { pendingPage } from './pending.ts'

/** A leader that does not answer costs this much, and no more. */
const LIMIT_MS = 3_000
/** Of any one sidecar. */
const MOST_PAGES = 40

/**
 * Asks each leader for its pending work, through the API server's proxy. What cannot be asked is named: no leader, a
 * leader that is no pod, one without an HTTP endpoint, a Go original, which has no such path.
 */
export async function collectPending(into: Collection, clock: Clock, signal: AbortSignal): Promise<void> {
  const asked = new Set<string>()
  await Promise.all(
    (into.leases ?? []).filter(isHeldBySidecar).map(async (lease) => {
      const endpoint = await endpointOf(lease, into)
      // Both sidecars in one process have one endpoint.
      if (endpoint === undefined || asked.has(endpoint)) return
      asked.add(endpoint)
      using limit = deadline(clock, LIMIT_MS, `asking ${endpoint}`, signal)
      try {
        await ask(endpoint, into, limit.signal)
      } catch (error) {
        signal.throwIfAborted()
        notSeen(into, lease, messageOf(error))
      }
    }),
  )
}

function isHeldBySidecar({ metadata, spec }: Lease): boolean {
  const named = /^external-(?:attacher-leader|resizer)-/.test(metadata?.name ?? '')
  return named && (spec?.holderIdentity ?? '') !== ''
}

async function ask(endpoint: string, into: Collection, signal: AbortSignal): Promise<void> {
  let path = `${endpoint}?limit=500`
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = pendingPage(await into.reader.raw(path, { timeoutMs: LIMIT_MS, signal }))
    if (page === undefined) throw new Error('its answer is no list of pending work')
    into.pending.push(...page.items)
    if (page.continue === undefined) return
    path = `${endpoint}?limit=500&continue=${encodeURIComponent(page.continue)}`
  }
  throw new Error(`it has more than ${MOST_PAGES} pages of pending work, the rest was not read`)
}

/** The path of /debug/stuck of the leader; undefined, and named, where there is none. */
async function endpointOf(lease: Lease, into: Collection): Promise<string | undefined> {
  const { namespace } = lease.metadata ?? {}
  const holder = lease.spec?.holderIdentity ?? ''
  const seen = await into.reader.get(PODS, { namespace, name: holder })
  const pod = objectOf(seen)
  if (pod === undefined) {
    if (seen.is === 'absent') notSeen(into, lease, `its leader ${holder} is no pod of namespace ${namespace}`)
    return undefined
  }
  const found = listenerOf(pod, lease.metadata?.name ?? '')
  if (found !== undefined) return `/api/v1/namespaces/${namespace}/pods/${found}/proxy/debug/stuck`
  notSeen(into, lease, `pod ${namespace}/${holder} has no container of it with --http-endpoint`)
  return undefined
}

/** `pod:port`, with `https:` in front where the sidecar serves TLS. */
export function listenerOf(pod: Pod, lease: string): string | undefined {
  const own = lease.startsWith('external-attacher-') ? 'attacher' : 'resizer'
  for (const { name, image = '', args = [], command = [] } of pod.spec?.containers ?? []) {
    if (!new RegExp(`${own}|csi-sidecars`).test(`${name} ${image} ${command.join(' ')}`)) continue
    const line = [...command, ...args].join(' ')
    const [, port] = /--?http-endpoint[= ]\S*:(\d+)(?: |$)/.exec(line) ?? []
    if (port === undefined) continue
    const tls = /(?:^| )--?tls-/.test(line)
    return `${tls ? 'https:' : ''}${pod.metadata?.name}:${port}`
  }
  return undefined
}

function notSeen({ reader }: Collection, { metadata }: Lease, why: string): void {
  reader.notSeen({ what: `/debug/stuck of ${metadata?.name}`, why, essential: false })
}
