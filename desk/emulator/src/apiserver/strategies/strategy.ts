import type { FieldErrors } from '../http/field-errors.ts'
import type { ApiObject } from '../schema/json.ts'
import type { Store } from '../storage/store.ts'
import type { NameCheck } from './names.ts'
import type { FieldRule } from './rules.ts'

/** The behaviour of one kind in writes. Each function gets frozen objects and returns new objects. */
export interface Strategy {
  readonly name?: NameCheck
  /** True if the names of finalizers need no domain. */
  readonly anyFinalizer?: boolean
  /** True if a new object keeps the status that the writer sends. */
  readonly keepsStatus?: boolean
  /** Fills fields that follow from other fields, after the defaults of the types. */
  readonly defaults?: (object: ApiObject) => ApiObject
  /** `now` is a timestamp in the format of the API. */
  readonly prepareCreate?: (object: ApiObject, now: string) => ApiObject
  readonly prepareUpdate?: (object: ApiObject, old: ApiObject) => ApiObject
  readonly prepareStatus?: (object: ApiObject, old: ApiObject, now: string) => ApiObject
  /** The rules of the fields. They are checked for new objects and for updates, but not for status writes. */
  readonly rules?: FieldRule
  /** Checks conditions across several fields. Runs after the rules. */
  readonly validate?: (errors: FieldErrors, object: ApiObject, old: ApiObject | undefined) => void
  /** The paths of fields that no update may change. */
  readonly fixed?: readonly string[]
  readonly validateUpdate?: (errors: FieldErrors, object: ApiObject, old: ApiObject) => void
  readonly validateStatus?: (errors: FieldErrors, object: ApiObject, old: ApiObject) => void
  /** Returns the warnings for the writer. */
  readonly warnings?: (object: ApiObject, old: ApiObject | undefined) => readonly string[]
  /** Completes a new object from other objects, as admission plugins do. */
  readonly complete?: (store: Store, object: ApiObject) => ApiObject
  /** Compares the object with other objects, as admission plugins do. Throws an ApiFailure. */
  readonly admit?: (store: Store, object: ApiObject, old: ApiObject | undefined) => void
}

/** Strategies by the names of kinds. */
export type Strategies = Readonly<Record<string, Strategy>>
