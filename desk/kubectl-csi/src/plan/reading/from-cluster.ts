import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  CSI_DRIVERS,
  DAEMON_SETS,
  DEPLOYMENTS,
  LEASES,
  type Resource,
  ROLE_BINDINGS,
  ROLES,
  STATEFUL_SETS,
  STORAGE_CLASSES,
  VOLUME_SNAPSHOT_CLASSES,
} from '@csi-sidecars/kube-types'
import type { ApiReader } from '../../facts/reader.ts'
import type { PlanFacts } from '../plan.ts'
import type { GrantedRule } from '../rights/granted.ts'
import { accountOf, type WorkloadKind, type WorkloadObject, workloadOf } from '../workload.ts'
import { driverNameOf } from './driver-name.ts'
import { type Account, boundRoles, grantedRules, type RoleRef } from './roles.ts'

const RESOURCES: Readonly<Record<WorkloadKind, Resource<WorkloadObject>>> = {
  Deployment: DEPLOYMENTS,
  StatefulSet: STATEFUL_SETS,
  DaemonSet: DAEMON_SETS,
}

/** An object with a pod template, by its name. */
export interface WorkloadRef {
  readonly kind: WorkloadKind
  readonly namespace: string
  readonly name: string
}

/** Reads a workload and everything that its plan needs. Undefined if it does not exist. Throws if it is not readable. */
export async function factsFromCluster(
  ref: WorkloadRef,
  reader: ApiReader,
  driver: string | undefined,
): Promise<PlanFacts | undefined> {
  const { kind, namespace, name } = ref
  const found = await reader.get(RESOURCES[kind], { namespace, name })
  if (found.kind === 'absent') return undefined
  const object = found.kind === 'present' ? workloadOf(found.object, kind, namespace) : undefined
  if (object === undefined) {
    throw new Error(
      reader.unseen.map(({ what, why }) => `${what}: ${why}`).join('; ') || 'its pod template has no containers',
    )
  }
  const account = { namespace, name: accountOf(object.pod) }
  const granted = await readGranted(account, reader)
  const [storageClasses = [], snapshotClasses = [], csiDrivers = [], leases = []] = [
    await reader.list(STORAGE_CLASSES),
    await reader.list(VOLUME_SNAPSHOT_CLASSES),
    await reader.list(CSI_DRIVERS),
    await reader.list(LEASES, { namespace }),
  ]
  return {
    workload: object,
    granted,
    driverName: driver ?? driverNameOf(object, { csiDrivers, leases }),
    storageClasses,
    snapshotClasses,
    kubernetes: await versionOf(reader),
    notRead: reader.unseen.map(({ what, why }) => ({ what, why })),
  }
}

async function readGranted(
  account: Account,
  reader: ApiReader,
): Promise<readonly GrantedRule[] | { readonly why: string }> {
  const clusterRoleBindings = await reader.list(CLUSTER_ROLE_BINDINGS)
  const roleBindings = await reader.list(ROLE_BINDINGS)
  if (clusterRoleBindings === undefined || roleBindings === undefined) {
    return { why: 'ClusterRoleBindings or RoleBindings may not be listed' }
  }
  const roleRefs = boundRoles(account, { clusterRoleBindings, roleBindings })
  const clusterRoles = await readRoles(
    roleRefs.filter(({ kind }) => kind === 'ClusterRole'),
    (role) => reader.get(CLUSTER_ROLES, { name: role.name }),
  )
  const roles = await readRoles(
    roleRefs.filter(({ kind }) => kind === 'Role'),
    ({ name, namespace = '' }) => reader.get(ROLES, { name, namespace }),
  )
  if (clusterRoles === undefined || roles === undefined) return { why: 'a bound role may not be read' }
  return grantedRules(roleRefs, { clusterRoles, roles }, account.namespace)
}

type RoleRead<T> = { readonly kind: 'present'; readonly object: T } | { readonly kind: 'absent' | 'unseen' }

/** Reads roles one after the other. Undefined if one of them may not be read. */
async function readRoles<T>(
  refs: readonly RoleRef[],
  read: (ref: RoleRef) => Promise<RoleRead<T>>,
): Promise<readonly T[] | undefined> {
  const roles: T[] = []
  for (const ref of refs) {
    const found = await read(ref)
    if (found.kind === 'unseen') return undefined
    if (found.kind === 'present') roles.push(found.object)
  }
  return roles
}

/** Returns the version of the API server. Undefined if the answer has an unexpected form. */
async function versionOf(reader: ApiReader): Promise<string | undefined> {
  const answer = await reader.version()
  if (typeof answer !== 'object' || answer === null) return undefined
  const { major, minor } = answer as { readonly major?: unknown; readonly minor?: unknown }
  return typeof major === 'string' && typeof minor === 'string' ? `${major}.${minor}` : undefined
}
