import { badRequest } from '../http/api-failure.ts'
import type { HttpRequest } from '../http/exchange.ts'
import type { Store } from '../storage/store.ts'
import { ALL_SERVICE_ACCOUNTS, AUTHENTICATED, type AuthenticatedUser } from './authentication.ts'
import { type Access, requireAccess } from './authorization.ts'

/** The user, groups and extra fields that the Impersonate-* headers ask for. */
interface Wanted {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: readonly (readonly [string, readonly string[]])[]
}

type ImpersonationCheck = Pick<Access & { type: 'resource' }, 'group' | 'resource' | 'namespace' | 'name'>

const EXTRA = 'impersonate-extra-' as const
const AUTHENTICATION = 'authentication.k8s.io'
const ANONYMOUS = 'system:anonymous'

/** The user that a request acts as. Throws 403 when impersonation is not allowed, and 400 when no user is named. */
export function servedAs(store: Store, user: AuthenticatedUser, headers: HttpRequest['headers']): AuthenticatedUser {
  const wanted = wantedIn(headers)
  if (wanted === undefined) return user
  for (const question of impersonationChecks(wanted)) {
    requireAccess(store, user, { type: 'resource', verb: 'impersonate', ...question })
  }
  return userOf(wanted)
}

function wantedIn(headers: HttpRequest['headers']): Wanted | undefined {
  const values = (header: `impersonate-${string}`): readonly string[] =>
    [headers[header] ?? []].flat().flatMap((value) => value.split(', '))
  const [name = ''] = values('impersonate-user')
  const [uid = ''] = values('impersonate-uid')
  const groups = values('impersonate-group')
  const extra = Object.keys(headers)
    .filter((header) => header.startsWith(EXTRA))
    .map((header): [string, readonly string[]] => {
      const key = header.slice(EXTRA.length)
      return [key, values(`${EXTRA}${key}`)]
    })
  if (name !== '') return { name, uid, groups, extra }
  if (uid === '' && groups.length === 0 && extra.length === 0) return undefined
  const asGo = [
    `Name:"", UID:${JSON.stringify(uid)}`,
    `Groups:[]string${listAsGo(groups)}`,
    `Extra:map[string][]string${extra.length === 0 ? '(nil)' : `{${extra.map(([key, all]) => `${JSON.stringify(key)}:[]string${listAsGo(all)}`).join(', ')}}`}`,
  ]
  throw badRequest(`requested &user.DefaultInfo{${asGo.join(', ')}} without impersonating a user name`)
}

function listAsGo(values: readonly string[]): string {
  return values.length === 0 ? '(nil)' : `{${values.map((each) => JSON.stringify(each)).join(', ')}}`
}

function impersonationChecks({ name, uid, groups, extra }: Wanted): readonly ImpersonationCheck[] {
  const [account, namespace] = serviceAccountOf(name) ?? []
  const of = (group: string, resource: string, named: string): ImpersonationCheck => {
    return { group, resource, namespace: undefined, name: named }
  }
  return [
    account === undefined ? of('', 'users', name) : { ...of('', 'serviceaccounts', account), namespace },
    ...(uid === '' ? [] : [of(AUTHENTICATION, 'uids', uid)]),
    ...groups.map((each) => of('', 'groups', each)),
    ...extra.flatMap(([key, all]) => all.map((each) => of(AUTHENTICATION, `userextras/${key}`, each))),
  ]
}

function userOf({ name, uid, groups, extra }: Wanted): AuthenticatedUser {
  const [, namespace] = serviceAccountOf(name) ?? []
  const own = namespace === undefined ? [] : [ALL_SERVICE_ACCOUNTS, `${ALL_SERVICE_ACCOUNTS}:${namespace}`]
  const given = groups.length > 0 ? groups : own
  const groupOfAll = name === ANONYMOUS ? 'system:unauthenticated' : AUTHENTICATED
  return {
    name,
    ...(uid !== '' && { uid }),
    groups: given.includes(groupOfAll) ? given : [...given, groupOfAll],
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  }
}

/** Name and namespace. */
function serviceAccountOf(user: string): readonly [string, string] | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? []
  return namespace === undefined || name === undefined ? undefined : [name, namespace]
}
