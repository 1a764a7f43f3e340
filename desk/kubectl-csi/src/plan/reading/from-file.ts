import { yamlDocuments } from '@csi-sidecars/kube-client'
import {
  type ClusterRole,
  type ClusterRoleBinding,
  type CSIDriver,
  isJsonObject,
  type Role,
  type RoleBinding,
  type StorageClass,
  type VolumeSnapshotClass,
} from '@csi-sidecars/kube-types'
import { notUnderstood, withoutNulls } from '../../facts/shapes.ts'
import type { PlanFacts } from '../plan.ts'
import {
  accountOf,
  WORKLOAD_KINDS,
  type Workload,
  type WorkloadKind,
  type WorkloadObject,
  workloadOf,
} from '../workload.ts'
import { driverNameOf } from './driver-name.ts'
import { boundRoles, grantedRules } from './roles.ts'

/** The objects of a manifest, by kind. */
export interface ManifestObjects {
  readonly workloads: readonly Workload[]
  readonly clusterRoles: readonly ClusterRole[]
  readonly clusterRoleBindings: readonly ClusterRoleBinding[]
  readonly roles: readonly Role[]
  readonly roleBindings: readonly RoleBinding[]
  readonly storageClasses: readonly StorageClass[]
  readonly snapshotClasses: readonly VolumeSnapshotClass[]
  readonly csiDrivers: readonly CSIDriver[]
  /** Objects that the plan cannot use, each with the reason. */
  readonly refused: readonly { readonly what: string; readonly why: string }[]
  /** The kinds of objects that the plan does not need. */
  readonly others: readonly string[]
}

const PLURALS: Readonly<Record<string, string>> = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  StorageClass: 'storageclasses',
  VolumeSnapshotClass: 'volumesnapshotclasses',
  CSIDriver: 'csidrivers',
}

interface AnyObject {
  readonly kind?: unknown
  readonly metadata?: { readonly name?: unknown; readonly namespace?: unknown }
  readonly items?: unknown
}

/** Reads a manifest: YAML with any number of documents, or JSON. Throws one line if it is neither. */
export function readManifest(text: string, namespace: string): ManifestObjects {
  const found: Record<string, unknown[]> = {}
  const workloads: Workload[] = []
  const refused: { what: string; why: string }[] = []
  const others: string[] = []
  for (const object of objectsIn(text)) {
    const kind = String(object.kind ?? 'an object without kind')
    const name = `${kind} ${String(object.metadata?.name ?? '')}`.trim()
    const plural = PLURALS[kind]
    if (plural === undefined) {
      others.push(name)
      continue
    }
    const why = notUnderstood(plural, object)
    if (why !== undefined) {
      refused.push({ what: name, why: isWorkloadKind(kind) ? `it is no pod template: ${why}` : why })
      continue
    }
    if (!isWorkloadKind(kind)) {
      found[plural] = [...(found[plural] ?? []), object]
      continue
    }
    // The shape of the object was checked above, so that the cast is safe.
    const workload = workloadOf(object as WorkloadObject, kind, namespace)
    if (workload === undefined) refused.push({ what: name, why: 'its pod template has no containers' })
    else workloads.push(workload)
  }
  // `notUnderstood` has checked the shape of each object, so that the casts are safe.
  const all = <T>(plural: string): readonly T[] => (found[plural] ?? []) as readonly T[]
  return {
    workloads,
    clusterRoles: all('clusterroles'),
    clusterRoleBindings: all('clusterrolebindings'),
    roles: all('roles'),
    roleBindings: all('rolebindings'),
    storageClasses: all('storageclasses'),
    snapshotClasses: all('volumesnapshotclasses'),
    csiDrivers: all('csidrivers'),
    refused,
    others,
  }
}

function isWorkloadKind(kind: string): kind is WorkloadKind {
  return (WORKLOAD_KINDS as readonly string[]).includes(kind)
}

/** Returns the objects of all documents. A List counts as its items. */
function objectsIn(text: string): readonly AnyObject[] {
  const documents = yamlDocuments(text)
  return documents.flatMap((document): readonly AnyObject[] => {
    if (!isJsonObject(document)) return []
    const object: AnyObject = document
    const items = String(object.kind).endsWith('List') && Array.isArray(object.items) ? object.items : [object]
    return items
      .filter((item) => typeof item === 'object' && item !== null)
      .map((item) => withoutNulls(item as AnyObject))
  })
}

/** Returns the facts of one workload of a manifest. */
export function factsOfManifest(workload: Workload, objects: ManifestObjects, driver: string | undefined): PlanFacts {
  const account = { namespace: workload.namespace, name: accountOf(workload.pod) }
  const roleRefs = boundRoles(account, objects, workload.namespace)
  const granted =
    roleRefs.length === 0
      ? { why: `the file has no role that is bound to the service account ${account.namespace}/${account.name}` }
      : grantedRules(roleRefs, objects, workload.namespace)
  return {
    workload,
    granted,
    driverName: driver ?? driverNameOf(workload, { csiDrivers: objects.csiDrivers, leases: [] }),
    storageClasses: objects.storageClasses,
    snapshotClasses: objects.snapshotClasses,
    kubernetes: undefined,
    notRead: objects.refused,
  }
}
