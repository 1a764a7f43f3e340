import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { APPS } from '@csi-sidecars/sidecars'
import { SUBJECTS, type Subject } from '../subject.ts'
import type { Api } from './api.ts'

/** The group of a user. RBAC rules name groups, so that each test can have a separate user and audit trail. */
export type Role = Subject | 'pod' | 'none'

/** A user whom the API server knows by a bearer token. `name` identifies its requests in the audit log. */
export interface User {
  readonly name: string
  readonly token: string
}

/** An API server for the tests, real or emulated. */
export interface Cluster {
  readonly url: string
  /** The minor version of Kubernetes that the API server reports. */
  readonly minor: number
  /** The certificate authority of the API server, as PEM. */
  readonly ca: string
  /** The certificate of the proxies between the sidecars and the API server. */
  readonly certificate: Certificate
  readonly adminToken: string
  /** A user without permissions. */
  readonly alice: User
  readonly api: Api
  /** Returns an unused user in the RBAC group of this role. */
  user(role: Role): User
  /** Returns the audit log lines of these users. */
  auditOf(users: readonly User[]): string[]
  /** Stops the API server as a crash does, and starts it again with the same port and data. Not for the emulator. */
  restart(meanwhile: () => Promise<void>): Promise<void>
  /** Compacts the API server's storage. Watches can then no longer resume from an earlier `resourceVersion`. */
  compact(): Promise<void>
  stop(): Promise<void>
}

const USERS_OF_EACH_ROLE = 1500

/** A certificate and its private key, both as PEM. */
export interface Certificate {
  readonly cert: string
  readonly key: string
}

/** All users of the tests. They are created in advance, because kube-apiserver reads its token file only at start. */
export class Users {
  readonly admin: User = { name: 'admin', token: randomUUID() }
  readonly alice: User = { name: 'alice', token: randomUUID() }
  readonly all: readonly (User & { readonly groups: readonly string[] })[]
  readonly #free: Record<Role, User[]> = {
    attacher: [],
    resizer: [],
    provisioner: [],
    snapshotter: [],
    both: [],
    pod: [],
    none: [],
  }

  constructor() {
    const made: (User & { groups: string[] })[] = [{ ...this.alice, groups: [] }]
    for (const [role, free] of Object.entries(this.#free)) {
      for (let index = USERS_OF_EACH_ROLE; index > 0; index -= 1) {
        const user = { name: `${role}-${index}`, token: randomUUID() }
        free.push(user)
        const apps = appsOf(role)
        made.push({ ...user, groups: apps.map((app) => `csi-${app}s`) })
      }
    }
    this.all = made
  }

  acquireUser(role: Role): User {
    const user = this.#free[role].pop()
    if (user === undefined) throw new Error(`no ${role} user is left`)
    return user
  }
}

/** Creates a self-signed certificate for 127.0.0.1. */
export function selfSigned(): Certificate {
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=e2e', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  const text = execFileSync('openssl', [...args, ...names, '-keyout', '-'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return { cert: block(text, 'CERTIFICATE'), key: block(text, 'PRIVATE KEY') }
}

function block(text: string, label: string): string {
  const found = new RegExp(`-----BEGIN ${label}-----[^]*-----END ${label}-----\\n`).exec(text)?.[0]
  if (found === undefined) throw new Error(`openssl wrote no ${label}`)
  return found
}

/** Returns the apps whose permissions a user of this role has. */
function appsOf(role: string): readonly string[] {
  if (role === 'pod') return SUBJECTS.map(({ app }) => app)
  return role === 'both' ? APPS : [role]
}
