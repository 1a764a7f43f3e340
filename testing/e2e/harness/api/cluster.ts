import { randomUUID } from 'node:crypto'
import { APPS } from '@csi-sidecars/sidecars'
import { SUBJECTS, type Subject } from '../subject.ts'
import type { Api } from './api.ts'
import type { Certificate } from './certificate.ts'

/** Permissions belong to the group, so that each test can have a user and an audit trail of its own. */
export type Role = Subject | 'pod' | 'none'

export interface User {
  readonly name: string
  readonly token: string
}

/** An API server for the tests, real or emulated. */
export interface Cluster {
  readonly url: string
  /** The minor version of the Kubernetes release as which the server answers. */
  readonly minor: number
  /** The server's own authority. */
  readonly ca: string
  /** The certificate of the gates between sidecars and server. */
  readonly certificate: Certificate
  readonly adminToken: string
  /** A user without permissions. */
  readonly alice: User
  readonly api: Api
  /** A new user each time. */
  user(role: Role): User
  /** The audit log lines of these users. */
  auditOf(users: readonly User[]): string[]
  /** Ends the server as a crash does, and starts it again on the same port and data. Real servers only. */
  restart(meanwhile: () => Promise<void>): Promise<void>
  /** Compacts the history, so that no watch can be resumed. */
  compact(): Promise<void>
  stop(): Promise<void>
}

const USERS_OF_EACH_ROLE = 1500

/** Both servers read their users at start, so all users that tests may need are created in advance. */
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
        const apps: readonly string[] =
          role === 'pod' ? SUBJECTS.map(({ app }) => app) : role === 'both' ? APPS : [role]
        made.push({ ...user, groups: apps.map((app) => `csi-${app}s`) })
      }
    }
    this.all = made
  }

  take(role: Role): User {
    const user = this.#free[role].pop()
    if (user === undefined) throw new Error(`no ${role} user is left`)
    return user
  }
}
