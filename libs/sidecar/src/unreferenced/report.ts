import {
  type MetricSpec,
  type Metrics,
  MISSING_SNAPSHOTS,
  MISSING_VOLUMES,
  UNREFERENCED_SNAPSHOTS,
  UNREFERENCED_SNAPSHOTS_BYTES,
  UNREFERENCED_VOLUMES,
  UNREFERENCED_VOLUMES_BYTES,
} from '@csi-sidecars/telemetry'

/** The kind of a thing in the back end. */
export type BackEndKind = 'volume' | 'snapshot'

/**
 * Why a thing is in the report. `NoObject`: the back end has it, and no object of the cluster names it. `Released`: its
 * PersistentVolume has been Released for longer than a day. `NotListed`: an object names it, and the back end does not
 * list it.
 */
export type UnreferencedReason = 'NoObject' | 'Released' | 'NotListed'

/** A volume or a snapshot without an object, or an object without a volume or a snapshot. */
export interface UnreferencedItem {
  readonly reason: UnreferencedReason
  /** The volume handle or the snapshot handle. */
  readonly handle: string
  /** The object that names the handle. Undefined with the reason `NoObject`. */
  readonly object: { readonly kind: string; readonly name: string } | undefined
  /** Undefined if the driver and the object do not say it. */
  readonly sizeBytes: number | undefined
  /** When this process saw it for the first time, in milliseconds since 1970. It may be much older. */
  readonly since: number
  /** The handle of the volume of a snapshot. */
  readonly sourceVolume?: string | undefined
  /** The number of nodes to which the driver has published the volume. */
  readonly publishedNodes?: number | undefined
}

/** The listings from which the items come, and the number of things that are not in the report. */
export interface ListingSummary {
  /** The start of the last complete listing, in milliseconds since 1970. Undefined: none. */
  readonly listedAt: number | undefined
  /** The number of entries in that listing. */
  readonly listedCount: number
  /** True if a flag selects the things of this cluster. False: the report is about the whole back end. */
  readonly isLimitedToCluster: boolean
  /** The number of things that may belong to a running creation, and are therefore not in the report. */
  readonly undecidedCount: number
  /** Why they are undecided, for people. */
  readonly undecidedReason: string | undefined
  /** The number of things that the report has no room for. */
  readonly omittedCount: number
  /** The error of the last listing. Undefined if it was complete. */
  readonly failure: string | undefined
}

/** The findings of one sidecar about one kind of things. */
export interface UnreferencedFindings {
  readonly items: readonly UnreferencedItem[]
  readonly listing: ListingSummary
}

/** One searched kind of one sidecar. A failed listing rejects `read`. */
export interface UnreferencedSource {
  readonly sidecar: string
  readonly kind: BackEndKind
  /** Compares the last listing with the objects of this moment. */
  read(): Promise<UnreferencedFindings>
}

interface KindMetrics {
  readonly count: MetricSpec<string>
  readonly bytes: MetricSpec<string>
  readonly missing: MetricSpec<string>
}

const METRICS: Readonly<Record<BackEndKind, KindMetrics>> = {
  volume: { count: UNREFERENCED_VOLUMES, bytes: UNREFERENCED_VOLUMES_BYTES, missing: MISSING_VOLUMES },
  snapshot: { count: UNREFERENCED_SNAPSHOTS, bytes: UNREFERENCED_SNAPSHOTS_BYTES, missing: MISSING_SNAPSHOTS },
}

/** The driver whose back end is reported, and the registry of the gauges. */
export interface ReportOptions {
  readonly driver: string
  readonly metrics: Metrics
}

/** The findings of one sidecar about one kind of thing. */
export interface SourceFindings extends UnreferencedFindings, Pick<UnreferencedSource, 'sidecar' | 'kind'> {}

/**
 * The report of volumes and snapshots that no object names, for metrics and a page.
 *
 * Guarantees: each read compares the last listing with the current objects, so that a thing disappears from the report
 * as soon as an object names it.
 *
 * Caveats: only a leader adds its findings. Without any there is no series.
 */
export class UnreferencedReport {
  /** The name of the CSI driver. */
  readonly driver: string
  readonly #sources = new Set<UnreferencedSource>()

  constructor({ driver, metrics }: ReportOptions) {
    this.driver = driver
    let read: readonly SourceFindings[] = []
    metrics.onCollect(async () => {
      read = this.#sources.size === 0 ? [] : await this.read()
    })
    for (const kind of ['volume', 'snapshot'] as const) {
      const { count, bytes, missing } = METRICS[kind]
      const ofKind = () => read.filter((each) => each.kind === kind)
      const sums = (value: (item: UnreferencedItem) => number) =>
        ofKind().flatMap(({ items, listing }) =>
          judgedReasons(kind, listing).map((reason) => ({
            labels: { driver_name: driver, reason, scope: scopeOf(listing) },
            value: sum(items.filter((each) => each.reason === reason).map(value)),
          })),
        )
      const listed = () => ofKind().filter(({ listing }) => listing.listedAt !== undefined)
      metrics.addSeries({ ...count, read: () => sums(() => 1) })
      metrics.addSeries({ ...bytes, read: () => sums(({ sizeBytes = 0 }) => sizeBytes) })
      metrics.addSeries({
        ...missing,
        read: () =>
          listed().map(({ items }) => ({
            labels: { driver_name: driver },
            value: items.filter(({ reason }) => reason === 'NotListed').length,
          })),
      })
    }
  }

  /** Adds the findings of a sidecar. The returned function removes them. */
  join(source: UnreferencedSource): () => void {
    this.#sources.add(source)
    return () => this.#sources.delete(source)
  }

  async read(): Promise<readonly SourceFindings[]> {
    return await Promise.all(
      [...this.#sources].map(async (source) => ({
        sidecar: source.sidecar,
        kind: source.kind,
        ...(await source.read()),
      })),
    )
  }
}

/** Returns the reasons that are known. Only a listing shows things without an object, and only volumes are Released. */
function judgedReasons(kind: BackEndKind, { listedAt }: ListingSummary): readonly UnreferencedReason[] {
  const ofListing: readonly UnreferencedReason[] = listedAt === undefined ? [] : ['NoObject']
  return kind === 'volume' ? [...ofListing, 'Released'] : ofListing
}

/** Returns the scope of a listing as metrics and the page name it. */
export function scopeOf({ isLimitedToCluster }: Pick<ListingSummary, 'isLimitedToCluster'>): 'cluster' | 'backend' {
  return isLimitedToCluster ? 'cluster' : 'backend'
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
