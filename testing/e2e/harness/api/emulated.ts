import { startApiServer } from '@csi-sidecars/emulator'
import { Api } from './api.ts'
import { type Cluster, selfSigned, Users } from './cluster.ts'

/** The minor version of Kubernetes that the emulator reports. */
const MINOR = 36

/** Starts the emulated API server in this process. */
export async function startEmulated(): Promise<Cluster> {
  const users = new Users()
  const server = await startApiServer({
    tls: true,
    adminToken: users.admin.token,
    tokens: users.all.map(({ name, token, groups }) => ({ token, user: name, uid: `${name}-uid`, groups })),
  })
  const ca = authorityOf(server.kubeconfig())
  const api = new Api({ url: server.url, ca, token: users.admin.token })
  return {
    url: server.url,
    minor: MINOR,
    ca,
    certificate: selfSigned(),
    adminToken: users.admin.token,
    alice: users.alice,
    api,
    user: (role) => users.acquireUser(role),
    auditOf: (some) => {
      const names = new Set(some.map(({ name }) => name))
      return server.requests.entries.filter(({ user = '' }) => names.has(user)).map((entry) => JSON.stringify(entry))
    },
    restart: () => Promise.reject(new Error('the emulated server is not restarted')),
    compact: async () => server.compact(),
    stop: async () => {
      api.close()
      await server.stop()
    },
  }
}

function authorityOf(kubeconfig: string): string {
  const [, encoded = ''] = /"certificate-authority-data":"([^"]+)"/.exec(kubeconfig) ?? []
  return Buffer.from(encoded, 'base64').toString()
}
