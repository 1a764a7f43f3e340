import type { Step } from './case.ts'

type Rest = Partial<Step>

export function get(path: string, rest: Rest = {}): Step {
  return { ask: `GET ${path}`, ...rest }
}

export function post(path: string, body: unknown, rest: Rest = {}): Step {
  return { ask: `POST ${path}`, body, ...rest }
}

export function put(path: string, body: unknown, rest: Rest = {}): Step {
  return { ask: `PUT ${path}`, body, ...rest }
}

export function remove(path: string, rest: Rest = {}): Step {
  return { ask: `DELETE ${path}`, ...rest }
}

/** PATCH, in each of three forms. */
export function merge(path: string, patch: unknown, rest: Rest = {}): Step {
  return { ask: `PATCH ${path}`, merge: patch, ...rest }
}

export function strategic(path: string, patch: unknown, rest: Rest = {}): Step {
  return { ask: `PATCH ${path}`, strategic: patch, ...rest }
}

export function jsonPatch(path: string, patch: unknown, rest: Rest = {}): Step {
  return { ask: `PATCH ${path}`, json: patch, ...rest }
}
