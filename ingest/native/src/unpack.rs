//! Gzip unpacked in one go, up to a limit.

use libdeflate_sys::{
    libdeflate_alloc_decompressor, libdeflate_free_decompressor, libdeflate_gzip_decompress_ex,
    libdeflate_result_LIBDEFLATE_SUCCESS as SUCCESS,
};

/// The content of a single member; None if it is larger than `most` bytes, broken, cut off, or if
/// something follows it.
pub fn gunzip(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    // The last four bytes of a member are the size of its content (RFC 1952).
    let announced = packed
        .last_chunk::<4>()
        .map(|size| u32::from_le_bytes(*size) as usize)?;
    if announced > most {
        return None;
    }
    let mut content: Vec<u8> = Vec::with_capacity(announced);
    let (mut read, mut written) = (0, 0);
    // SAFETY: the library reads `packed`, writes at most `announced` bytes, for which there is
    // room, and says how many it wrote; its decompressor lives for this call alone.
    let result = unsafe {
        let decompressor = libdeflate_alloc_decompressor();
        if decompressor.is_null() {
            return None;
        }
        let result = libdeflate_gzip_decompress_ex(
            decompressor,
            packed.as_ptr().cast(),
            packed.len(),
            content.as_mut_ptr().cast(),
            announced,
            &mut read,
            &mut written,
        );
        libdeflate_free_decompressor(decompressor);
        if result == SUCCESS {
            content.set_len(written);
        }
        result
    };
    (result == SUCCESS && read == packed.len()).then_some(content)
}
