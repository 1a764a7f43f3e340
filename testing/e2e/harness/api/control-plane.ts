import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { freePort } from '@csi-sidecars/emulator'
import { exitOf, start, stop, temporaryFolder } from '../process/processes.ts'
import { controlPlaneProgram } from '../programs/binaries.ts'
import { eventually } from '../waiting.ts'
import { Api } from './api.ts'
import { type Cluster, type User, Users } from './cluster.ts'

/** The programs and settings of a real API server. `binaries` is the folder with etcd and kube-apiserver. */
export interface ControlPlaneOptions {
  readonly binaries: string
  /** The folder for the logs of etcd and kube-apiserver. */
  readonly logs: string
  readonly apiServerArgs?: readonly string[]
  /** The minor version of Kubernetes that the API server reports. */
  readonly minor: number
}

/** A real API server and its etcd. */
export interface ControlPlane extends Cluster {
  /** The URL of etcd. */
  readonly etcdUrl: string
}

/** Go collects garbage at four times the usual size of the heap, because the tests need the processors. */
const ENVIRONMENT = { ...process.env, GOGC: '400' }

const AUDIT_POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived', 'ResponseStarted'],
  rules: [
    { level: 'None', users: ['system:apiserver', 'admin'] },
    { level: 'Request', verbs: ['create', 'update', 'patch', 'delete'] },
    { level: 'Metadata' },
  ],
}

/** The settings of a real kube-controller-manager. `controllers` are the names for its flag `--controllers`. */
export interface ControllerManagerOptions {
  readonly kubeconfig: string
  /** The folder for the log and the certificate of kube-controller-manager. */
  readonly folder: string
  readonly controllers: readonly string[]
  readonly args?: readonly string[]
}

/** Starts etcd and kube-apiserver on loopback, with RBAC, a token file and an audit log, in a temporary folder. */
export async function startControlPlane({
  binaries,
  logs,
  apiServerArgs = [],
  minor,
}: ControlPlaneOptions): Promise<ControlPlane> {
  const folder = temporaryFolder('control-plane')
  const etcd = await startEtcd(binaries, folder, logs)
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const users = new Users()
  writeTokens(folder, users)
  writeKeys(folder)
  const auditLog = join(folder, 'audit.log')
  const launch = async (): Promise<ChildProcess> => {
    const args = [...apiServerFlags({ folder, port, etcdUrl: etcd.url, auditLog }), ...apiServerArgs]
    const child = start(join(binaries, 'kube-apiserver'), args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: ENVIRONMENT,
    })
    child.stderr?.pipe(createWriteStream(join(logs, 'kube-apiserver.log'), { flags: 'a' }))
    const died = exitOf(child).then(({ code }) => {
      throw new Error(`kube-apiserver ended with ${code}; its log is in ${logs}`)
    })
    await Promise.race([ready(url, folder, users.admin.token), died])
    died.catch(() => undefined)
    return child
  }
  let apiServer = await launch()
  const ca = readFileSync(join(folder, 'certs', 'apiserver.crt'), 'utf8')
  const api = new Api({ url, ca, token: users.admin.token })
  return {
    url,
    minor,
    ca,
    certificate: { cert: ca, key: readFileSync(join(folder, 'certs', 'apiserver.key'), 'utf8') },
    adminToken: users.admin.token,
    alice: users.alice,
    api,
    user: (role) => users.acquireUser(role),
    auditOf: (some) => auditLines(auditLog, some),
    restart: async (meanwhile) => {
      await stop(apiServer)
      await meanwhile()
      apiServer = await launch()
    },
    compact: () => compact(etcd.url),
    etcdUrl: etcd.url,
    stop: async () => {
      api.close()
      await stop(apiServer)
      await stop(etcd.child)
    },
  }
}

async function startEtcd(
  binaries: string,
  folder: string,
  logs: string,
): Promise<{ url: string; child: ChildProcess }> {
  const url = `http://127.0.0.1:${await freePort()}`
  const peer = `http://127.0.0.1:${await freePort()}`
  const child = start(
    join(binaries, 'etcd'),
    [
      `--data-dir=${join(folder, 'etcd')}`,
      // Benchmarks create more objects than the default quota of etcd allows.
      `--quota-backend-bytes=${8 * 1024 ** 3}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: ENVIRONMENT },
  )
  child.stderr?.pipe(createWriteStream(join(logs, 'etcd.log'), { flags: 'a' }))
  const healthy = async (): Promise<boolean> => (await fetch(`${url}/health`)).ok
  await eventually('a healthy etcd', healthy, { within: 30_000, every: 100 })
  return { url, child }
}

function apiServerFlags(at: { folder: string; port: number; etcdUrl: string; auditLog: string }): string[] {
  const { folder, port, etcdUrl, auditLog } = at
  return [
    `--etcd-servers=${etcdUrl}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(folder, 'certs')}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--allow-privileged=true',
    '--authorization-mode=RBAC',
    `--service-account-key-file=${join(folder, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(folder, 'sa.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.0.0.0/24',
    // These plugins rely on controllers that do not run here.
    '--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection',
    `--audit-policy-file=${join(folder, 'audit-policy.json')}`,
    `--audit-log-path=${auditLog}`,
    '--audit-log-mode=blocking',
    '--shutdown-delay-duration=0s',
  ]
}

function writeKeys(folder: string): void {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(folder, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(join(folder, 'sa.key'), privateKey.export({ type: 'pkcs1', format: 'pem' }))
  writeFileSync(join(folder, 'audit-policy.json'), JSON.stringify(AUDIT_POLICY))
}

function writeTokens(folder: string, { admin, all }: Users): void {
  const lines = all.map(({ name, token, groups }) => `${token},${name},${name}-uid,"${groups.join()}"`)
  writeFileSync(join(folder, 'tokens.csv'), `${[`${admin.token},admin,admin,system:masters`, ...lines].join('\n')}\n`)
}

async function compact(etcdUrl: string): Promise<void> {
  const post = async (path: string, body: object): Promise<{ header?: { revision?: string } }> => {
    const answer = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
    return (await answer.json()) as { header?: { revision?: string } }
  }
  const { header } = await post('/v3/kv/range', { key: Buffer.from('x').toString('base64') })
  await post('/v3/kv/compaction', { revision: header?.revision, physical: true })
}

/** Waits until the server is healthy and the default roles and namespaces exist. */
async function ready(url: string, folder: string, token: string): Promise<void> {
  const crt = join(folder, 'certs', 'apiserver.crt')
  await eventually('a certificate of kube-apiserver', () => existsSync(crt), { within: 30_000, every: 100 })
  const api = new Api({ url, ca: readFileSync(crt, 'utf8'), token })
  try {
    const isReady = async (): Promise<boolean> => (await api.call<string>('GET', '/readyz')) === 'ok'
    await eventually('a ready kube-apiserver', isReady, { within: 120_000, every: 200 })
    await eventually('the default namespace', () => api.call('GET', '/api/v1/namespaces/default'), { within: 30_000 })
  } finally {
    api.close()
  }
}

function auditLines(path: string, users: readonly User[]): string[] {
  if (!existsSync(path)) return []
  const marks = users.map(({ name }) => `"username":"${name}"`)
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => marks.some((symptom) => line.includes(symptom)))
}

/** Starts a real kube-controller-manager with some of its controllers. */
export async function startControllerManager(options: ControllerManagerOptions): Promise<ChildProcess> {
  const { kubeconfig, folder, controllers, args = [] } = options
  const binary = controlPlaneProgram(resolve(import.meta.dirname, '../../../..'), 'kube-controller-manager')
  const child = start(
    binary,
    [
      `--kubeconfig=${kubeconfig}`,
      `--controllers=${controllers.join()}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${await freePort()}`,
      `--cert-dir=${join(folder, 'certs')}`,
      ...args,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  child.stderr?.pipe(createWriteStream(join(folder, 'kube-controller-manager.log')))
  return child
}
