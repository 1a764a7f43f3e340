import type { Container, Deployment, PolicyRule } from '@csi-sidecars/kube-types'
import type { PlanFacts } from '../plan/plan.ts'
import { type Workload, workloadOf } from '../plan/workload.ts'

export const IMAGES = { registry: 'ghcr.io/csi-sidecars', version: 'v0.1.0' }
export const ADDRESS = '/csi/csi.sock'

const SOCKET: NonNullable<Container['volumeMounts']> = [{ name: 'socket-dir', mountPath: '/csi' }]

/** Returns a container of a Go sidecar, such as `sidecar('csi-attacher:v4.0.0', '--leader-election')`. */
export function sidecar(image: string, args: string, fields: Partial<Container> = {}): Container {
  const name = image.replace(/^.*\//, '').replace(/[:@].*$/, '')
  return {
    name,
    image: image.includes('/') ? image : `registry.k8s.io/sig-storage/${image}`,
    args: [`--csi-address=${ADDRESS}`, ...args.split(' ').filter(Boolean)],
    volumeMounts: SOCKET,
    ...fields,
  }
}

export const DRIVER_CONTAINER: Container = {
  name: 'driver',
  image: 'example.com/driver:v1',
  args: ['--endpoint=unix:///csi/csi.sock'],
  volumeMounts: SOCKET,
}

export function deployment(containers: readonly Container[], pod: object = {}): Deployment {
  const labels = { app: 'controller' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'controller', namespace: 'storage' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { serviceAccountName: 'controller', containers, ...pod } },
    },
  }
}

export function workload(containers: readonly Container[], pod: object = {}): Workload {
  const found = workloadOf(deployment(containers, pod), 'Deployment', 'storage')
  if (found === undefined) throw new Error('the Deployment has no pod template')
  return found
}

/** The facts of a workload whose service account may do everything. */
export function facts(containers: readonly Container[], fields: Partial<PlanFacts> = {}): PlanFacts {
  return {
    workload: workload(containers),
    granted: [granted({ apiGroups: ['*'], resources: ['*'], verbs: ['*'] })],
    driverName: 'csi.example.com',
    storageClasses: [],
    snapshotClasses: [],
    kubernetes: '1.36',
    notRead: [],
    ...fields,
  }
}

export function granted(rule: PolicyRule, namespace?: string) {
  return { rule, namespace }
}
