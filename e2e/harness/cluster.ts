import { randomUUID } from 'node:crypto'
import { APPS } from '@csi-sidecars/sidecars'
import type { Api } from './api.ts'
import type { Certificate } from './certificate.ts'
import type { Subject } from './subject.ts'

/** What a sidecar may do is given to the group, so that each story can have a user and an audit trail of its own. */
export type Role = Subject | 'nobody'

export interface User {
  readonly name: string
  readonly token: string
}

/** An API server for the stories, real or emulated. */
export interface Cluster {
  readonly url: string
  /** The server's own authority. */
  readonly ca: string
  /** What the doors between sidecars and server show. */
  readonly certificate: Certificate
  readonly adminToken: string
  /** Somebody who may do nothing. */
  readonly alice: User
  readonly api: Api
  /** A new user each time. */
  user(role: Role): User
  /** What the server noted about these users, a line each. */
  auditOf(users: readonly User[]): string[]
  /** Ends the server as a crash does, and starts it again on the same port and data. Real servers only. */
  restart(meanwhile: () => Promise<void>): Promise<void>
  /** Forgets the past, so that no watch can be resumed. */
  compact(): Promise<void>
  stop(): Promise<void>
}

const USERS_OF_EACH_ROLE = 1500

/** Both servers learn their users when they start, so all that stories may want are made in advance. */
export class Users {
  readonly admin: User = { name: 'admin', token: randomUUID() }
  readonly alice: User = { name: 'alice', token: randomUUID() }
  readonly all: readonly (User & { readonly groups: readonly string[] })[]
  readonly #free: Record<Role, User[]> = { attacher: [], resizer: [], both: [], nobody: [] }

  constructor() {
    const made: (User & { groups: string[] })[] = [{ ...this.alice, groups: [] }]
    for (const [role, free] of Object.entries(this.#free)) {
      for (let index = USERS_OF_EACH_ROLE; index > 0; index -= 1) {
        const user = { name: `${role}-${index}`, token: randomUUID() }
        free.push(user)
        const groups = (role === 'both' ? APPS : [role]).map((app) => `csi-${app}s`)
        made.push({ ...user, groups })
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
