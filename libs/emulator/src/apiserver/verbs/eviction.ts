import { ApiFailure, badRequest, forbidden } from '../http/api-failure.ts'
import {
  at,
  type Json,
  type JsonObject,
  type KubeObject,
  listAt,
  objectAt,
  textAt,
  withStatus,
} from '../schema/json.ts'
import { POD_DISRUPTION_BUDGET } from '../schema/kinds.ts'
import { commit, existing, type Registry, type Target, timestamp } from '../storage/registry.ts'
import { selects } from '../storage/selectors.ts'
import { withCondition } from './binding.ts'
import { remove } from './deletion.ts'

/** Phases in which a pod does no work. */
const UNGUARDED = ['Pending', 'Succeeded', 'Failed']

const EVICTED = {
  type: 'DisruptionTarget',
  status: 'True',
  reason: 'EvictionByEvictionAPI',
  message: 'Eviction API: evicting',
}

/** POST to `pods/x/eviction`: deletes the pod unless its disruption budget forbids that. */
export function evict(
  registry: Registry,
  pod: Target,
  { eviction, ...options }: { readonly eviction: JsonObject; readonly dryRun: boolean },
): void {
  const name = textAt(eviction, 'metadata', 'name') ?? ''
  if (name !== '' && name !== pod.name) throw badRequest('name in URL does not match name in Eviction object')
  const { object } = existing(registry, { ...pod, status: false })
  const deletion = objectAt(eviction, 'deleteOptions')
  const dryRun = options.dryRun || at(deletion, 'dryRun') !== undefined
  const grace = at(deletion, 'gracePeriodSeconds')
  const unguarded =
    UNGUARDED.includes(textAt(object, 'status', 'phase') ?? '') || object.metadata.deletionTimestamp !== undefined
  if (!unguarded) spend(registry, object, dryRun)
  const target = { ...pod, status: false }
  const how = {
    dryRun,
    gracePeriodSeconds: typeof grace === 'number' ? grace : undefined,
    preconditions: {
      uid: textAt(deletion, 'preconditions', 'uid'),
      resourceVersion: textAt(deletion, 'preconditions', 'resourceVersion'),
    },
  }
  // The deletion is checked before the status gets its reason.
  remove(registry, target, { ...how, dryRun: true })
  if (dryRun) return
  // By this condition others see that it was evicted.
  commit(registry, target, { object: withCondition(registry, object, EVICTED), dryRun })
  remove(registry, target, { ...how, preconditions: { uid: how.preconditions.uid } })
}

/** Takes one disruption from the budget of a pod, if it has one. */
function spend(registry: Registry, pod: KubeObject, dryRun: boolean): void {
  const { namespace, name = '' } = pod.metadata
  const budgets = [...registry.store.of(POD_DISRUPTION_BUDGET).entries()]
    .map((entry) => entry.object)
    .filter((each) => each.metadata.namespace === namespace)
    .filter((each) => selects(objectAt(each, 'spec', 'selector'), pod.metadata.labels ?? {}))
  const [budget, ...more] = budgets
  if (budget === undefined) return
  if (more.length > 0) {
    const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'
    throw new ApiFailure('', why)
  }
  if (!isReady(pod) && mayGoUnready(budget)) return
  checkBudget(budget, name)
  const status = objectAt(budget, 'status') ?? {}
  const left = numberAt(status, 'disruptionsAllowed') - 1
  const disruptedPods = { ...objectAt(status, 'disruptedPods'), [name]: timestamp(registry.clock) }
  const target = { kind: POD_DISRUPTION_BUDGET, namespace, name: budget.metadata.name ?? '', status: true }
  commit(registry, target, { object: withStatus(budget, { disruptionsAllowed: left, disruptedPods }), dryRun })
}

function isReady(pod: KubeObject): boolean {
  const ready = listAt(pod, 'status', 'conditions').find((each) => textAt(each, 'type') === 'Ready')
  return textAt(ready, 'status') === 'True'
}

/** A pod that is not ready does not count, so the budget is not spent on it: always, or while enough others are. */
function mayGoUnready(budget: KubeObject): boolean {
  if (textAt(budget, 'spec', 'unhealthyPodEvictionPolicy') === 'AlwaysAllow') return true
  const desired = numberAt(budget['status'], 'desiredHealthy')
  return desired > 0 && numberAt(budget['status'], 'currentHealthy') >= desired
}

function checkBudget(budget: KubeObject, pod: string): void {
  const { name = '', generation = 0 } = budget.metadata
  const status = objectAt(budget, 'status') ?? {}
  if (numberAt(status, 'observedGeneration') < generation) {
    throw violated(`The disruption budget ${name} is still being processed by the server.`, 10)
  }
  const allowed = numberAt(status, 'disruptionsAllowed')
  if (allowed < 0) throw forbidden(POD_DISRUPTION_BUDGET, name, `pdb disruptions allowed is negative: ${pod}`)
  if (allowed > 0) return
  const [desired, current] = [numberAt(status, 'desiredHealthy'), numberAt(status, 'currentHealthy')]
  throw violated(`The disruption budget ${name} needs ${desired} healthy pods and has ${current} currently`)
}

function violated(why: string, retryAfterSeconds?: number): ApiFailure {
  const message = "Cannot evict pod as it would violate the pod's disruption budget."
  const causes = [{ reason: 'DisruptionBudget', message: why }]
  return new ApiFailure('TooManyRequests', message, { details: { causes, retryAfterSeconds } })
}

function numberAt(value: Json | undefined, key: string): number {
  const found = at(value, key)
  return typeof found === 'number' ? found : 0
}
