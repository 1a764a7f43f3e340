import { type SourceFindings, scopeOf, type UnreferencedItem, type UnreferencedReport } from '../unreferenced/report.ts'
import type { EndpointReply } from './listener.ts'

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/**
 * Returns a page of the volumes and snapshots that no object names, and of the objects whose volume or snapshot is not
 * in the listing of the driver.
 */
export async function debugUnreferenced(report: UnreferencedReport | undefined): Promise<EndpointReply> {
  if (report === undefined) {
    return { status: 503, body: 'starting\n', headers: { 'Content-Type': 'text/plain; charset=utf-8' } }
  }
  const sources = await report.read()
  const body = {
    driver: report.driver,
    searches: sources.map(searchOf),
    items: sources.flatMap((source) => source.items.map((item) => itemOf(source, item))),
  }
  return { status: 200, body: `${JSON.stringify(body)}\n`, headers: JSON_HEADERS, compressible: true }
}

function searchOf({ sidecar, kind, listing }: SourceFindings): object {
  const { listedAt, listedCount, undecidedCount, undecidedReason, omittedCount, failure } = listing
  const scope = scopeOf(listing)
  return {
    sidecar,
    kind,
    scope,
    listedAt: timeOf(listedAt),
    listed: listedCount,
    undecided: undecidedCount,
    undecidedBecause: undecidedReason,
    omitted: omittedCount,
    failure,
  }
}

function itemOf({ kind }: SourceFindings, { since, ...item }: UnreferencedItem): object {
  return { kind, ...item, since: timeOf(since) }
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}
