import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { FOLDERS } from '../machine/folders.ts'
import { inside, tryInside } from '../machine/inside.ts'
import type { NodeRecord } from '../machine/record.ts'
import { until } from '../machine/until.ts'
import { NODE_ADDRESS, NODE_NAME, SERVICE_RANGE } from './configuration.ts'

const { state } = FOLDERS

/** The programs of the node outside of containers, in the order of their start. */
export const SERVICES = [
  'etcd',
  'registry',
  'containerd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
] as const
export type Service = (typeof SERVICES)[number]

const ADMIN = ['--kubeconfig', join(state, 'admin.conf')]

const COMMANDS: Readonly<Record<Service, readonly string[]>> = {
  etcd: ['etcd', '--data-dir', join(state, 'etcd'), '--unsafe-no-fsync', '--log-level', 'warn'],
  registry: [process.execPath, join(import.meta.dirname, 'registry.ts')],
  containerd: ['containerd', '--config', join(state, 'containerd.toml')],
  'kube-apiserver': [
    'kube-apiserver',
    '--etcd-servers=http://127.0.0.1:2379',
    '--secure-port=443',
    `--advertise-address=${NODE_ADDRESS}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    `--cert-dir=${join(state, 'pki')}`,
    `--token-auth-file=${join(state, 'tokens.csv')}`,
    '--authorization-mode=Node,RBAC',
    '--allow-privileged',
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${join(state, 'pki', 'sa.pub')}`,
    `--service-account-signing-key-file=${join(state, 'pki', 'sa.key')}`,
    '--shutdown-delay-duration=0s',
  ],
  'kube-controller-manager': [
    'kube-controller-manager',
    ...ADMIN,
    '--leader-elect=false',
    `--service-account-private-key-file=${join(state, 'pki', 'sa.key')}`,
    `--root-ca-file=${join(state, 'pki', 'apiserver.crt')}`,
    '--use-service-account-credentials',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ],
  'kube-scheduler': ['kube-scheduler', ...ADMIN, '--leader-elect=false'],
  kubelet: [
    'kubelet',
    `--config=${join(state, 'kubelet.json')}`,
    `--kubeconfig=${join(state, 'kubelet.conf')}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NODE_ADDRESS}`,
    '--v=2',
  ],
}

/** Starts a service as a child of process 1, so that it survives this program. */
export function startService(node: NodeRecord, service: Service): void {
  const script = `log=$1 pid=$2; shift 2; "$@" >> "$log" 2>&1 < /dev/null & echo $! > "$pid"`
  inside(node, ['sh', '-c', script, 'sh', logOf(service), pidFile(service), ...COMMANDS[service]])
}

/** Ends a service and waits until it has ended. */
export async function stopService(node: NodeRecord, service: Service, signal = 'TERM'): Promise<void> {
  const pid = readFileSync(pidFile(service), 'utf8').trim()
  tryInside(node, ['kill', `-${signal}`, pid])
  await until(`the end of ${service}`, () => tryInside(node, ['kill', '-0', pid]).status !== 0)
  rmSync(pidFile(service))
}

/** Returns the last lines of the log of a service, for an error message. */
export function endOfLog(service: Service): string {
  const file = logOf(service)
  return existsSync(file) ? `(${file}): ${readFileSync(file, 'utf8').trimEnd().split('\n').slice(-3).join(' | ')}` : ''
}

const logOf = (service: Service): string => join(state, 'log', service)
const pidFile = (service: Service): string => join(state, 'pid', service)
