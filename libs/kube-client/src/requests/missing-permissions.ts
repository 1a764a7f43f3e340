import type { Clock } from '@csi-sidecars/base'
import { type Logger, type Metrics, MISSING_PERMISSION } from '@csi-sidecars/telemetry'
import type { ApiRequest } from '../api/client.ts'

/** The shortest time between two log lines for the same rule, however often the request is retried. */
const LOG_INTERVAL_MS = 600_000
/** The time without a refusal after which a missing permission is forgotten. */
const FORGET_AFTER_MS = 3_600_000

interface Refusal {
  readonly resource: string
  /** The refused verbs and their namespaces. */
  readonly scopes: Set<string>
  loggedAt: number
  refusedAt: number
}

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete'

interface RequestScope {
  readonly verb: Verb
  readonly namespace: string
  /** The resource with its group, such as `volumeattachments.storage.k8s.io/status`. */
  readonly resource: string
  /** The rule that allows the request: `volumeattachments.storage.k8s.io/status: patch`. */
  readonly rule: string
}

/**
 * The permissions that the service account of this process lacks, as rules to add to its role. A role from before an
 * upgrade is the usual cause. All clients of a process share one object.
 */
export class MissingPermissions {
  readonly #clock: Clock
  readonly #log: Logger
  /** The refusals, by the rule that the role lacks. */
  readonly #missing = new Map<string, Refusal>()

  constructor({ clock, log, metrics }: { readonly clock: Clock; readonly log: Logger; readonly metrics?: Metrics }) {
    this.#clock = clock
    this.#log = log
    metrics?.addSeries({ ...MISSING_PERMISSION, read: () => this.#series() })
  }

  /** Records that the API server has refused the request with 403. Logs the rule at most every ten minutes. */
  recordRefusal(request: ApiRequest, error: unknown): void {
    const scope = scopeOf(request)
    if (scope === undefined || isOptional(request) || !isCausedByRole(scope, error)) return
    const { rule, resource } = scope
    const now = this.#clock.monotonic()
    const refusal = this.#missing.get(rule) ?? {
      resource,
      scopes: new Set(),
      loggedAt: -LOG_INTERVAL_MS,
      refusedAt: now,
    }
    this.#missing.set(rule, refusal)
    refusal.scopes.add(scopeText(scope))
    refusal.refusedAt = now
    if (now - refusal.loggedAt < LOG_INTERVAL_MS) return
    refusal.loggedAt = now
    this.#log.error(error, 'A permission is missing: add this rule to the role of the service account', { rule })
  }

  /** Records that the API server has allowed the request. Permission to list does not prove permission to watch. */
  recordSuccess(request: ApiRequest): void {
    if (this.#missing.size === 0) return
    const scope = scopeOf(request)
    const refusal = scope && this.#missing.get(scope.rule)
    if (scope === undefined || refusal === undefined) return
    refusal.scopes.delete(scopeText(scope))
    if (scope.verb === 'watch') refusal.scopes.delete(scopeText({ ...scope, verb: 'list' }))
    if (refusal.scopes.size > 0) return
    this.#missing.delete(scope.rule)
    this.#log.info('The missing permission was granted', { rule: scope.rule })
  }

  /** The missing rules, such as `volumeattributesclasses.storage.k8s.io: get, list, watch`. */
  get rules(): readonly string[] {
    const now = this.#clock.monotonic()
    for (const [rule, { refusedAt }] of this.#missing) {
      if (now - refusedAt >= FORGET_AFTER_MS) this.#missing.delete(rule)
    }
    return [...this.#missing.keys()].sort()
  }

  #series(): Iterable<{ readonly labels: { readonly resource: string }; readonly value: number }> {
    const resources = new Set(this.rules.map((rule) => this.#missing.get(rule)?.resource ?? ''))
    return [...resources].map((resource) => ({ labels: { resource }, value: 1 }))
  }
}

/** Reports whether the caller continues after a 403, so that the permission does not count as missing. */
function isOptional({ options }: ApiRequest): boolean {
  return options?.optional === true || options?.priority === 'background'
}

/** Reports whether a role caused the 403. Admission plugins and namespaces in deletion also refuse writes with 403. */
function isCausedByRole({ verb }: RequestScope, error: unknown): boolean {
  const isRead = verb === 'get' || verb === 'list' || verb === 'watch'
  return isRead || (error instanceof Error && / cannot [a-z]+ resource "/.test(error.message))
}

/** The kinds that are needed in one namespace only, so a Role allows them. Other kinds need a ClusterRole. */
const OF_ONE_NAMESPACE = new Set(['leases', 'csistoragecapacities'])
const VERBS = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' } as const
const PATH = /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+))?\/[^/]+(?:\/([^/]+)(?:\/([^/]+))?)?$/

function readVerb(name: string | undefined, query: string): 'get' | 'watch' | 'list' {
  if (name !== undefined) return 'get'
  return query.includes('watch=true') ? 'watch' : 'list'
}

/** Returns the verb, the namespace and the rule of a request. Undefined if its path has no resource. */
function scopeOf({ method, path, resource }: ApiRequest): RequestScope | undefined {
  if (resource === undefined) return undefined
  const [route = '', query = ''] = path.split('?')
  const [, namespace = '', name, subresource] = PATH.exec(route) ?? []
  const verb = method === 'GET' ? readVerb(name, query) : VERBS[method]
  const { plural, group } = resource
  const text = `${plural}${group && `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
  const verbs = plural === 'leases' ? 'create, get, update' : ruleVerbs(verb)
  const where = namespace !== '' && OF_ONE_NAMESPACE.has(plural) ? ` in namespace ${namespace}` : ''
  return { verb, namespace, resource: text, rule: `${text}${where}: ${verbs}` }
}

function ruleVerbs(verb: Verb): string {
  return verb === 'list' || verb === 'watch' ? 'get, list, watch' : verb
}

function scopeText({ verb, namespace }: RequestScope): string {
  return `${verb} ${namespace}`
}
