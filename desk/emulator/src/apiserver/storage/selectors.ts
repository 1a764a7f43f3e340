import { badRequest } from '../http/api-failure.ts'
import { type ApiObject, at } from '../schema/json.ts'
import type { ServedKind } from '../schema/kinds.ts'

type Labels = Readonly<Record<string, string>>
export type Predicate = (object: ApiObject) => boolean

const NAME = '[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?'
const KEY = `(?:[a-z0-9.-]+/)?${NAME}`
const IN_SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`)
const COMPARED = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${NAME})?$`)
const ORDERED = new RegExp(`^(${KEY})\\s*(>|<)\\s*(-?\\d+)$`)
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`)

/** Reads a label selector: `a=b,c!=d,e in (f,g),h,!i,j>1`. An empty selector matches everything. */
export function labelSelector(text: string): (labels: Labels) => boolean {
  if (text.trim() === '') return () => true
  const tests = text.split(/,(?![^(]*\))/).map((part) => labelTest(part.trim()))
  return (labels) => tests.every((test) => test(labels))
}

function labelTest(part: string): (labels: Labels) => boolean {
  const [, setKey, setOperator, members] = IN_SET.exec(part) ?? []
  if (setKey !== undefined) {
    const set = new Set((members ?? '').split(',').map((member) => member.trim()))
    if (setOperator === 'in') return (labels) => Object.hasOwn(labels, setKey) && set.has(labels[setKey] ?? '')
    return (labels) => !Object.hasOwn(labels, setKey) || !set.has(labels[setKey] ?? '')
  }
  const [, key, operator, value = ''] = COMPARED.exec(part) ?? []
  if (key !== undefined) {
    if (operator === '!=') return (labels) => labels[key] !== value
    return (labels) => labels[key] === value
  }
  const [, orderKey, order, limitText] = ORDERED.exec(part) ?? []
  if (orderKey !== undefined) {
    const limit = Number(limitText)
    return (labels) => {
      const here = Number.parseInt(labels[orderKey] ?? '', 10)
      return order === '>' ? here > limit : here < limit
    }
  }
  const [, not, existing] = EXISTS.exec(part) ?? []
  if (existing !== undefined) return (labels) => Object.hasOwn(labels, existing) === (not === '')
  throw badRequest(`unable to parse requirement: ${JSON.stringify(part)} is no label requirement`)
}

/** The fields that field selectors may use, in addition to the name and the namespace. */
const INVOLVED = ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Event: [...INVOLVED.map((field) => `involvedObject.${field}`), 'reason', 'reportingComponent', 'source', 'type'],
  Namespace: ['status.phase', 'name'],
  Node: ['spec.unschedulable'],
  Pod: [
    ...['nodeName', 'restartPolicy', 'schedulerName', 'serviceAccountName', 'hostNetwork'].map(
      (field) => `spec.${field}`,
    ),
    ...['phase', 'podIP', 'podIPs', 'nominatedNodeName'].map((field) => `status.${field}`),
  ],
  Secret: ['type'],
}

interface FieldSelector {
  readonly matches: Predicate
  /** The only name that can match, such as `a` for `metadata.name=a`. Undefined if several names can match. */
  readonly name: string | undefined
}

/** Reads a field selector: `metadata.name=a,spec.nodeName!=b`. */
export function fieldSelector(kind: ServedKind, text: string): FieldSelector {
  const terms = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => fieldTerm(kind, part))
  const named = terms.find((term) => term.field === 'metadata.name' && term.equal)
  return {
    matches: (object) => terms.every((term) => (selectedValue(object, term.field) === term.value) === term.equal),
    name: named?.value,
  }
}

function fieldTerm(kind: ServedKind, part: string): { field: string; equal: boolean; value: string } {
  const [, field, operator, value = ''] = /^([^=!]+)(!=|==|=)(.*)$/.exec(part) ?? []
  if (field === undefined) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`)
  const isSupported = field === 'metadata.name' || (field === 'metadata.namespace' && kind.namespaced)
  const fieldsOfKind = FIELDS[kind.kind]
  if (!isSupported && fieldsOfKind?.includes(field) !== true) {
    if (fieldsOfKind !== undefined) throw badRequest(`field label not supported: ${field}`)
    throw badRequest(`"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`)
  }
  return { field, equal: operator !== '!=', value }
}

/** Selectable fields are compared as text. An absent field counts as empty, an absent flag as false. */
function selectedValue(object: ApiObject, field: string): string {
  if (field === 'source') return selectedValue(object, 'source.component')
  const found = at(object, ...field.split('.'))
  if (found === undefined || found === null) return FLAGS.has(field) ? 'false' : ''
  return String(found)
}

const FLAGS: ReadonlySet<string> = new Set(['spec.unschedulable', 'spec.hostNetwork'])
