import type { Backlog, PendingWork } from '@csi-sidecars/controller'
import type { ServerLimits } from '@csi-sidecars/kube-client'
import type { EndpointReply } from './listener.ts'

/** One object in the answer of /debug/stuck. Fields without a value are omitted. */
interface StuckItem extends Omit<PendingWork, 'key' | 'queue' | 'since' | 'nextTry' | 'waitsFor'> {
  readonly driver: string
  readonly since: string
  readonly waitsFor: readonly string[] | undefined
  readonly nextTry: string | undefined
}

const DEFAULT_LIMIT = 500
const MAX_LIMIT = 5000

const JSON_HEADERS = { 'Content-Type': 'application/json', 'X-Content-Type-Options': 'nosniff' }

/** The content of /debug/stuck: the pending work, and two causes that may block all work. */
export interface StuckReport {
  /** The pending work. Undefined until the service has started. */
  readonly backlog: Backlog | undefined
  readonly limits: ServerLimits
  /** The RBAC rules that this process lacks. */
  readonly missingPermissions: readonly string[]
}

/**
 * Returns a page of the pending work, oldest first. `?limit=` sets the number of objects on the page, and `?continue=`
 * requests the page after the previous page.
 */
export async function debugStuck(
  { backlog, limits, missingPermissions }: StuckReport,
  query: URLSearchParams,
): Promise<EndpointReply> {
  if (backlog === undefined) return refuse(503, 'starting')
  const limitText = query.get('limit')
  const limit = limitText === null ? DEFAULT_LIMIT : Number(limitText)
  if (!Number.isInteger(limit) || limit < 1)
    return refuse(400, `limit ${JSON.stringify(limitText)} is no number above 0`)
  const token = query.get('continue')
  const after = token === null ? undefined : positionOf(token)
  if (token !== null && after === undefined) return refuse(400, 'continue is no token of an earlier answer')
  const all = (await backlog.all()).map(withPosition).sort(byPosition)
  const rest = after === undefined ? all : all.filter((each) => byPosition(each, after) > 0)
  const page = rest.slice(0, Math.min(limit, MAX_LIMIT))
  const last = rest.length > page.length ? page.at(-1) : undefined
  const body = {
    items: page.map(({ work }) => itemOf(backlog.driver, work)),
    total: all.length,
    continue: last && tokenOf(last),
    missingPermissions: missingPermissions.length === 0 ? undefined : missingPermissions,
    apiServer: limits.refusals && refusalsOf(limits.refusals, limits.inFlight),
  }
  return { status: 200, body: `${JSON.stringify(body)}\n`, headers: JSON_HEADERS, compressible: true }
}

/** Returns the current refusals of the API server, which may slow down all work. */
function refusalsOf({ count, since }: NonNullable<ServerLimits['refusals']>, inFlight: number | undefined): object {
  return { refused: count, since: rfc3339Milli(since), inFlight }
}

interface PagePosition {
  readonly since: number
  /** Decides the order of pending work that has the same `since`. */
  readonly id: string
}

function withPosition(work: PendingWork): PagePosition & { readonly work: PendingWork } {
  return { since: work.since, id: `${work.sidecar} ${work.operation} ${work.key}`, work }
}

function byPosition(a: PagePosition, b: PagePosition): number {
  if (a.since !== b.since) return a.since - b.since
  if (a.id === b.id) return 0
  return a.id < b.id ? -1 : 1
}

function tokenOf({ since, id }: PagePosition): string {
  return Buffer.from(`${since} ${id}`).toString('base64url')
}

function positionOf(token: string): PagePosition | undefined {
  const [, since, id] = /^(\d+(?:\.\d+)?) (.+)$/s.exec(Buffer.from(token, 'base64url').toString()) ?? []
  return since === undefined || id === undefined ? undefined : { since: Number(since), id }
}

function itemOf(driver: string, { key: _, queue: __, since, nextTry, waitsFor, ...work }: PendingWork): StuckItem {
  return {
    driver,
    ...work,
    since: rfc3339Milli(since),
    waitsFor: waitsFor.length === 0 ? undefined : waitsFor,
    nextTry: nextTry === undefined ? undefined : rfc3339Milli(nextTry),
  }
}

function rfc3339Milli(ms: number): string {
  return new Date(ms).toISOString()
}

function refuse(status: number, why: string): EndpointReply {
  return { status, body: `${why}\n`, headers: { 'Content-Type': 'text/plain; charset=utf-8' } }
}
