import { type ApiObject, at, isObject, type Json, listAt, objectAt, textAt } from '../schema/json.ts'
import { ageOf } from './age.ts'
import { AGE, type Cell, type Column, type Columns, CREATED, column, NAME, text, WIDE } from './cells.ts'

const BINDING: readonly Column[] = [
  NAME,
  column('Role', (object) => `${textAt(object, 'roleRef', 'kind')}/${textAt(object, 'roleRef', 'name')}`),
  AGE,
  column('Users', subjects('User'), WIDE),
  column('Groups', subjects('Group'), WIDE),
  column('ServiceAccounts', subjects('ServiceAccount'), WIDE),
]

export const CORE_COLUMNS: Columns = {
  Node: [
    NAME,
    column('Status', nodeState),
    column('Roles', nodeRoles),
    AGE,
    column('Version', text('status.nodeInfo.kubeletVersion')),
    column('Internal-IP', nodeAddress('InternalIP'), WIDE),
    column('External-IP', nodeAddress('ExternalIP'), WIDE),
    column('OS-Image', nodeInfo('osImage'), WIDE),
    column('Kernel-Version', kernel, WIDE),
    column('Container-Runtime', nodeInfo('containerRuntimeVersion'), WIDE),
  ],
  Namespace: [NAME, column('Status', text('status.phase')), AGE],
  Pod: [
    NAME,
    column('Ready', podReadiness),
    column('Status', podState),
    column('Restarts', podRestarts),
    AGE,
    column('IP', (object) => textAt(listAt(object, 'status', 'podIPs')[0], 'ip') ?? '<none>', WIDE),
    column('Node', text('spec.nodeName', '<none>'), WIDE),
    column('Nominated Node', text('status.nominatedNodeName', '<none>'), WIDE),
    column('Readiness Gates', () => '<none>', WIDE),
  ],
  Secret: [NAME, column('Type', text('type')), column('Data', count('data')), AGE],
  ConfigMap: [NAME, column('Data', count('data', 'binaryData')), AGE],
  ServiceAccount: [NAME, AGE],
  Event: [
    column('Last Seen', lastSeen),
    column('Type', text('type')),
    column('Reason', text('reason')),
    column('Object', involved),
    column('Subobject', text('involvedObject.fieldPath'), WIDE),
    column('Source', source, WIDE),
    column('Message', (object) => (textAt(object, 'message') ?? '').trim()),
    column('First Seen', firstSeen, WIDE),
    column('Count', (object) => at(object, 'series', 'count') ?? at(object, 'count') ?? 1, WIDE),
    { ...NAME, priority: 1 },
  ],
  Lease: [NAME, column('Holder', text('spec.holderIdentity')), AGE],
  Role: [NAME, CREATED],
  ClusterRole: [NAME, CREATED],
  RoleBinding: BINDING,
  ClusterRoleBinding: BINDING,
}

function nodeState(object: ApiObject): string {
  const ready = listAt(object, 'status', 'conditions').find((condition) => textAt(condition, 'type') === 'Ready')
  const readiness = textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  const state = ready === undefined ? 'Unknown' : readiness
  return at(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state
}

function nodeRoles(object: ApiObject): string {
  const prefix = 'node-role.kubernetes.io/'
  const labels = Object.keys(object.metadata.labels ?? {}).filter((label) => label.startsWith(prefix))
  const roles = labels.map((label) => label.slice(prefix.length))
  return roles.sort().join(',') || '<none>'
}

function nodeAddress(type: string): Cell {
  return (object) => {
    const found = listAt(object, 'status', 'addresses').find((address) => textAt(address, 'type') === type)
    return textAt(found, 'address') ?? '<none>'
  }
}

function kernel(object: ApiObject): string {
  const version = textAt(object, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>'
  const architecture = textAt(object, 'status', 'nodeInfo', 'architecture') ?? ''
  return architecture === '' ? version : `${version} (${architecture})`
}

function nodeInfo(field: string): Cell {
  return (object) => textAt(object, 'status', 'nodeInfo', field) || '<unknown>'
}

function count(...fields: readonly string[]): Cell {
  return (object) => fields.reduce((sum, field) => sum + Object.keys(objectAt(object, field) ?? {}).length, 0)
}

function subjects(kind: string): Cell {
  const nameOf = (subject: Json): string => {
    const name = textAt(subject, 'name') ?? ''
    return kind === 'ServiceAccount' ? `${textAt(subject, 'namespace') ?? ''}/${name}` : name
  }
  return (object) => {
    const found = listAt(object, 'subjects').filter((subject) => textAt(subject, 'kind') === kind)
    return found.map(nameOf).join(', ')
  }
}

function firstSeen(object: ApiObject, now: number): string {
  return ageOf(at(object, 'firstTimestamp') ?? at(object, 'eventTime'), now)
}

function lastSeen(object: ApiObject, now: number): string {
  const series = at(object, 'series', 'lastObservedTime')
  if (series !== undefined) return ageOf(series, now)
  const last = at(object, 'lastTimestamp') ?? null
  return last === null ? firstSeen(object, now) : ageOf(last, now)
}

function involved(object: ApiObject): string {
  const kind = (textAt(object, 'involvedObject', 'kind') ?? '').toLowerCase()
  const name = textAt(object, 'involvedObject', 'name') ?? ''
  return name === '' ? kind : `${kind}/${name}`
}

function source(object: ApiObject): string {
  const component = textAt(object, 'source', 'component') || textAt(object, 'reportingComponent') || ''
  const host = textAt(object, 'source', 'host') || textAt(object, 'reportingInstance') || ''
  return host === '' ? component : `${component}, ${host}`
}

/** Returns the numbers of ready containers and of all containers, such as `1/2`. */
function podReadiness(pod: ApiObject): string {
  const ready = statuses(pod).filter(
    (status) => at(status, 'ready') === true && isObject(at(status, 'state', 'running')),
  )
  return `${ready.length}/${listAt(pod, 'spec', 'containers').length}`
}

function podRestarts(pod: ApiObject): string {
  return String(statuses(pod).reduce<number>((sum, status) => sum + Number(at(status, 'restartCount') ?? 0), 0))
}

/** Returns the state of a pod: its phase, the reason of a container, or `Terminating`. */
function podState(pod: ApiObject): string {
  const phase = textAt(pod, 'status', 'phase') ?? ''
  let state = textAt(pod, 'status', 'reason') || phase
  for (const status of statuses(pod)) state = containerReason(objectAt(status, 'state')) ?? state
  const ended = phase === 'Succeeded' || phase === 'Failed'
  return pod.metadata.deletionTimestamp !== undefined && !ended ? 'Terminating' : state
}

function statuses(pod: ApiObject): readonly Json[] {
  return listAt(pod, 'status', 'containerStatuses')
}

function containerReason(state: Json | undefined): string | undefined {
  const waiting = textAt(state, 'waiting', 'reason') ?? ''
  if (waiting !== '') return waiting
  const terminated = objectAt(state, 'terminated')
  if (terminated === undefined) return undefined
  const signal = at(terminated, 'signal') ?? 0
  const ending = signal === 0 ? `ExitCode:${String(at(terminated, 'exitCode'))}` : `Signal:${String(signal)}`
  return textAt(terminated, 'reason') || ending
}
