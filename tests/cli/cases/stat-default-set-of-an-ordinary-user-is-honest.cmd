as_user ./coati stat -- true
