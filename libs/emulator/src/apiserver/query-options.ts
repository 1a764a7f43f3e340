import { invalid } from './api-failure.ts'
import { bodyOf } from './decode.ts'
import type { DeleteOptions } from './deletion.ts'
import { isList, type Json, type JsonObject, textAt } from './json.ts'
import { Problems } from './problems.ts'
import type { FieldValidation, WriteOptions } from './registry.ts'
import { schemaNamed } from './schema/schema.ts'

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions' | 'ListOptions'

/** Throws 422 about a request's options, if there is anything wrong with them. */
export function refuseOptions(kind: OptionsKind, problems: Problems): void {
  if (problems.none) return
  throw invalid({ group: 'meta.k8s.io', plural: kind, kind }, '', problems.causes)
}

const FIELD_VALIDATIONS: readonly string[] = ['', 'Ignore', 'Strict', 'Warn']

export function writeOptionsOf(kind: OptionsKind, query: URLSearchParams): WriteOptions {
  const problems = new Problems()
  const dryRun = dryRunOf(problems, query.getAll('dryRun'))
  const fieldValidation = query.get('fieldValidation') ?? ''
  if (!FIELD_VALIDATIONS.includes(fieldValidation)) {
    problems.unsupported('fieldValidation', fieldValidation, FIELD_VALIDATIONS)
  }
  refuseOptions(kind, problems)
  return { dryRun, fieldValidation: (fieldValidation || 'Warn') as FieldValidation }
}

function dryRunOf(problems: Problems, asked: readonly Json[]): boolean {
  const named = asked.filter((each) => each !== '')
  if (named.some((each) => each !== 'All')) problems.unsupported('dryRun', named, ['All'])
  return named.length > 0
}

const DELETE_OPTIONS = { name: 'DeleteOptions', schema: schemaNamed('DeleteOptions') }
const PROPAGATIONS: readonly string[] = ['Foreground', 'Background', 'Orphan', 'nil']

/** The options of a DELETE, from its body or else its query. */
export function deleteOptionsOf(query: URLSearchParams, text: Buffer, contentType: string | undefined): DeleteOptions {
  const body: JsonObject = text.length === 0 ? {} : bodyOf(contentType, text, DELETE_OPTIONS)
  const problems = new Problems()
  const fromBody = isList(body['dryRun']) ? body['dryRun'] : []
  const dryRun = dryRunOf(problems, [...fromBody, ...query.getAll('dryRun')])
  const propagationPolicy = textAt(body, 'propagationPolicy') ?? query.get('propagationPolicy') ?? undefined
  if (propagationPolicy !== undefined && !PROPAGATIONS.includes(propagationPolicy)) {
    problems.unsupported('propagationPolicy', propagationPolicy, PROPAGATIONS)
  }
  refuseOptions('DeleteOptions', problems)
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds')
  return {
    dryRun,
    gracePeriodSeconds: grace === null || grace === undefined ? undefined : Number(grace),
    propagationPolicy,
    preconditions: {
      uid: textAt(body, 'preconditions', 'uid'),
      resourceVersion: textAt(body, 'preconditions', 'resourceVersion'),
    },
  }
}

const MATCHES: readonly string[] = ['Exact', 'NotOlderThan', '']

/** What a list may ask of versions. */
export function checkListOptions(query: URLSearchParams): void {
  const problems = new Problems()
  const match = query.get('resourceVersionMatch') ?? ''
  const version = query.get('resourceVersion') ?? ''
  const field = 'resourceVersionMatch'
  if (!MATCHES.includes(match)) problems.unsupported(field, match, MATCHES)
  else if (match !== '') {
    if (version === '')
      problems.forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided')
    if ((query.get('continue') ?? '') !== '') {
      problems.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided')
    }
    if (match === 'Exact' && version === '0') {
      problems.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    }
  }
  refuseOptions('ListOptions', problems)
}
