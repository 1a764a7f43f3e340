import type { Clock } from '@csi-sidecars/base'
import {
  CSI_DRIVERS,
  LEASES,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  STORAGE_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  type VolumeSnapshotContent,
} from '@csi-sidecars/kube-types'
import { askLeaders, LIMIT_MS } from '../facts/collect-pending.ts'
import { collectSidecarPods } from '../facts/collect-sidecars.ts'
import { FactCollection } from '../facts/collection.ts'
import { ApiReader, type ReadOnlyClient } from '../facts/reader.ts'
import { jsonText } from '../output/explanation.ts'
import { type Search, type Thing, unreferencedPage } from './page.ts'
import type { UnreferencedResult } from './result.ts'
import { unreferencedText } from './text.ts'

/** The parts of the process that `kubectl csi unreferenced` uses. */
export interface UnreferencedAround {
  readonly client: ReadOnlyClient
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (text: string) => void
}

/** The exit codes of `unreferenced`. */
const EXIT_CODES = { none: 0, some: 1, unknown: 2 } as const

/** Excludes the Leases with which nodes send heartbeats, one for each node. */
const NOT_OF_NODES = 'metadata.namespace!=kube-node-lease'

/** Prints the volumes and snapshots that no object names, from `/debug/unreferenced` of each leader. It only reads. */
export async function unreferenced(json: boolean, context: UnreferencedAround): Promise<number> {
  const { client, clock, signal, write } = context
  const into = new FactCollection(new ApiReader(client, signal))
  const searches: Search[] = []
  const things: Thing[] = []
  const [leases] = await Promise.all([
    into.reader.list(LEASES, { fieldSelector: NOT_OF_NODES }),
    // The Lease of a provisioner is named like its driver, which may have no CSIDriver.
    into.all(into.drivers, CSI_DRIVERS),
    into.all(into.storageClasses, STORAGE_CLASSES),
  ])
  into.leases = leases
  await collectSidecarPods(into, 'holders')
  await askLeaders(into, { page: '/debug/unreferenced', clock, signal }, async (_lease, path, question) => {
    const page = unreferencedPage(await into.reader.raw(path, { timeoutMs: LIMIT_MS, signal: question.signal }))
    if (page === undefined) throw new Error('its answer is no list of volumes')
    searches.push(...page.searches)
    things.push(...page.items)
  })
  // The objects are read after the leaders were asked: an object that was created since then must not be missed.
  const named = things.length === 0 ? new Set<string>() : await namedHandles(into.reader)
  const items = things.filter(
    ({ reason, driver, handle }) => reason !== 'NoObject' || !named.has(`${driver} ${handle}`),
  )
  const result: UnreferencedResult = { searches, items, unseen: into.reader.unseen }
  write(json ? jsonText({ verdict: verdictOf(result), ...result }) : unreferencedText(result, clock.now()))
  return EXIT_CODES[verdictOf(result)]
}

/** Returns the driver and the handle of each PersistentVolume and of each VolumeSnapshotContent. */
async function namedHandles(reader: ApiReader): Promise<ReadonlySet<string>> {
  const named = new Set<string>()
  const addVolume = ({ spec }: PersistentVolume): boolean => {
    if (spec?.csi != null) named.add(`${spec.csi.driver} ${spec.csi.volumeHandle}`)
    return false
  }
  const addContent = ({ spec, status }: VolumeSnapshotContent): boolean => {
    for (const handle of [status?.snapshotHandle, spec?.source?.snapshotHandle]) {
      if (handle != null) named.add(`${spec?.driver} ${handle}`)
    }
    return false
  }
  await Promise.all([
    reader.list(PERSISTENT_VOLUMES, { where: addVolume }),
    reader.list(VOLUME_SNAPSHOT_CONTENTS, { where: addContent }),
  ])
  return named
}

/** Without a complete search of some leader, nothing is known. */
function verdictOf({ searches, items }: UnreferencedResult): keyof typeof EXIT_CODES {
  if (items.length > 0) return 'some'
  const isKnown = searches.some(({ listedAt }) => listedAt !== undefined)
  return isKnown && searches.every(({ undecided, failure }) => undecided === 0 && failure === undefined)
    ? 'none'
    : 'unknown'
}
