import type { Clock } from '@csi-sidecars/base'
import type { Resource } from '@csi-sidecars/kube-types'
import { type Logger, type Metrics, MISSING_PERMISSION } from '@csi-sidecars/telemetry'

/** Retries of a refused cache write no line in between. */
const REPEAT_MS = 600_000

/** The kind and the selection of objects that an informer reads. */
export interface ReadScope {
  readonly resource: Pick<Resource<unknown>, 'group' | 'plural'>
  readonly namespace?: string | undefined
}

/** The verb that the API server answers. A streaming list is a watch. */
export type ReadVerb = 'list' | 'watch'

interface MissingPermission {
  readonly resource: string
  readonly loggedAt: number
  /** The verb that was refused last. */
  readonly verb: ReadVerb
}

/**
 * The permissions to read that the service account of this process lacks, as rules to add to its role. A role from
 * before an upgrade is the usual cause.
 */
export class MissingPermissions {
  readonly #clock: Clock
  readonly #log: Logger
  /** Keyed by the missing rule. */
  readonly #missing = new Map<string, MissingPermission>()

  constructor({ clock, log, metrics }: { readonly clock: Clock; readonly log: Logger; readonly metrics?: Metrics }) {
    this.#clock = clock
    this.#log = log
    metrics?.series({ ...MISSING_PERMISSION, read: () => this.#series() })
  }

  /** The API server has refused the verb. Logs the rule at most every ten minutes. */
  refused(scope: ReadScope, verb: ReadVerb, error: unknown): void {
    const rule = ruleOf(scope)
    const now = this.#clock.monotonic()
    const before = this.#missing.get(rule)
    const isDue = before === undefined || now - before.loggedAt >= REPEAT_MS
    this.#missing.set(rule, { resource: nameOf(scope), verb, loggedAt: isDue ? now : before.loggedAt })
    if (!isDue) return
    this.#log.error(error, 'A permission is missing: add this rule to the role of the service account', { rule })
  }

  /** The API server has carried out the verb. A list says nothing about a watch that was refused. */
  allowed(scope: ReadScope, verb: ReadVerb): void {
    if (this.#missing.size === 0) return
    const rule = ruleOf(scope)
    if (verb === 'list' && this.#missing.get(rule)?.verb === 'watch') return
    if (this.#missing.delete(rule)) this.#log.info('The missing permission was granted', { rule })
  }

  /** `volumeattributesclasses.storage.k8s.io: get, list, watch` */
  get rules(): readonly string[] {
    return [...this.#missing.keys()].sort()
  }

  #series(): Iterable<{ readonly labels: { readonly resource: string }; readonly value: number }> {
    const resources = new Set([...this.#missing.values()].map(({ resource }) => resource))
    return [...resources].map((resource) => ({ labels: { resource }, value: 1 }))
  }
}

function ruleOf(scope: ReadScope): string {
  const where = scope.namespace === undefined ? '' : ` in namespace ${scope.namespace}`
  return `${nameOf(scope)}${where}: get, list, watch`
}

function nameOf({ resource: { group, plural } }: ReadScope): string {
  return group === '' ? plural : `${plural}.${group}`
}
