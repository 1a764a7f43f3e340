import { conflict, unprocessable } from '../http/api-failure.ts'
import { type ApiObject, type JsonMap, listAt, textAt, withSpec, withStatus } from '../schema/json.ts'
import { POD } from '../schema/kinds.ts'
import { commit, existing, type ObjectRegistry, timestamp } from '../storage/registry.ts'

/** Assigns a pod to a node, for a POST of a Binding. The Binding itself is not stored. */
export function bind(
  registry: ObjectRegistry,
  binding: ApiObject,
  { namespace, dryRun }: { readonly namespace: string | undefined; readonly dryRun: boolean },
): void {
  // The UID in the Binding has no effect, because kube-apiserver clears UIDs on creation.
  const { name = '' } = binding.metadata
  const nodeName = textAt(binding, 'target', 'name') ?? ''
  if (nodeName === '') throw unprocessable()
  const target = { kind: POD, namespace, name, status: false }
  const { object: pod } = existing(registry, target)
  const refused = (why: string): Error => conflict({ group: '', plural: 'pods/binding' }, name, why)
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw refused(`pod ${name} is being deleted, cannot be assigned to a host`)
  }
  const present = textAt(pod, 'spec', 'nodeName') ?? ''
  if (present !== '') throw refused(`pod ${name} is already assigned to node "${present}"`)
  const placed = withSpec(pod, (spec) => ({ ...spec, nodeName }))
  const object = withCondition(registry, placed, { type: 'PodScheduled', status: 'True' })
  commit(registry, target, { object, dryRun })
}

/** Returns the pod with a condition whose transition time is now. */
export function withCondition({ clock }: ObjectRegistry, pod: ApiObject, condition: JsonMap): ApiObject {
  const others = listAt(pod, 'status', 'conditions').filter((each) => textAt(each, 'type') !== condition['type'])
  const begun = { ...condition, lastProbeTime: null, lastTransitionTime: timestamp(clock) }
  return withStatus(pod, { conditions: [...others, begun] })
}
