export {
  isMigratedCSIDriverByName,
  isPVMigratable,
  repairVolumeHandle,
  translateInTreePVToCSI,
} from './translate.ts'
export { TranslationError, type TranslationErrorCode } from './translation-error.ts'
